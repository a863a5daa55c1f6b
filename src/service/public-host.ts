/**
 * Names that only mean something inside a network: special use (RFC 6761, 6762, 8375, 9476) and the customary ones that
 * no public registry will ever hold.
 */
const LOCAL_NAME =
  /(^|\.)(localhost|local|localdomain|internal|intranet|private|corp|home|lan|svc|home\.arpa|test|invalid|alt|onion)$/;

/** IANA special-purpose IPv4 blocks that are not for the public, and multicast: base address and prefix length. */
const CLOSED_IPV4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/**
 * Whether a host may be meant for everybody. Takes `URL.hostname`, whose parser has already turned `0x7f.1`, `2130706433`
 * and full-width digits into the plain form. What a public name resolves to cannot be seen from a Worker; the platform's
 * `global_fetch_strictly_public` stands behind this check.
 */
export function isPublicHost(hostname: string): boolean {
  if (hostname.startsWith("[")) return isPublicIpv6(hostname.slice(1, -1));
  const name = hostname.toLowerCase().replace(/\.+$/, "");
  if (/^[\d.]+$/.test(name)) return isPublicIpv4(name);
  return name.includes(".") && !LOCAL_NAME.test(name);
}

function isPublicIpv4(address: string): boolean {
  if (!/^(\d{1,3}\.){3}\d{1,3}$/.test(address)) return false;
  const value = ipv4(address);
  return !CLOSED_IPV4.some(([base, prefix]) => value >>> (32 - prefix) === ipv4(base) >>> (32 - prefix));
}

const ipv4 = (address: string): number =>
  address.split(".").reduce((value, part) => ((value << 8) | Number(part)) >>> 0, 0);

/**
 * Only global unicast, 2000::/3, without its special blocks. That leaves out loopback, link-local, unique local,
 * multicast, IPv4-mapped and NAT64 addresses, all of which lie elsewhere.
 */
function isPublicIpv6(address: string): boolean {
  const [first = 0, second = 0] = leadingGroups(address);
  if (first < 0x2000 || first > 0x3fff) return false;
  if (first === 0x2001 && (second < 0x200 || second === 0xdb8)) return false; // Teredo, ORCHID, benchmarks; documentation
  if (first === 0x2002) return false; // 6to4: an IPv4 address, public or not, in disguise
  return !(first === 0x3fff && second < 0x1000); // documentation
}

/** The groups before `::`; those it stands for are zero. */
const leadingGroups = (address: string): number[] =>
  (address.split("::", 1)[0] ?? "").split(":").map((group) => Number.parseInt(group || "0", 16));
