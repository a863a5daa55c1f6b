/** A piece of the OpenAPI document: plain JSON. */
export type Part = Readonly<Record<string, unknown>>;

export const schema = (name: string): Part => ({ $ref: `#/components/schemas/${name}` });
export const parameter = (name: string): Part => ({ $ref: `#/components/parameters/${name}` });

/** An object of exactly these; those whose name ends in `?` may be left out. */
export function object(members: Part, more: Part = {}): Part {
  const names = Object.keys(members);
  const properties = Object.fromEntries(names.map((name) => [name.replace("?", ""), members[name]]));
  const required = names.filter((name) => !name.endsWith("?"));
  return { type: "object", ...more, properties, ...(required.length > 0 ? { required } : {}) };
}

export const list = (items: Part, more: Part = {}): Part => ({ type: "array", items, ...more });
export const text = (description: string, more: Part = {}): Part => ({ type: "string", description, ...more });
export const whole = (description: string, more: Part = {}): Part => ({ type: "integer", description, ...more });
export const orNull = (part: Part): Part => ({ ...part, type: [part["type"], "null"] });
export const flag = (description: string): Part => ({ type: "boolean", description });

/** An example under a name: the request of a name comes to the answer of the same name. */
export type Examples = Readonly<Record<string, unknown>>;

const named = (examples: Examples): Part =>
  Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]));

export const json = (of: Part, examples?: Examples): Part => ({
  "application/json": { schema: of, ...(examples ? { examples: named(examples) } : {}) },
});

/** What a body may hold, and nothing else. */
export const body = (members: Part, examples: Examples): Part => ({
  required: true,
  content: json(object(members, { additionalProperties: false }), examples),
});

export const answer = (description: string, of: Part, examples: Examples, headers?: Part): Part => ({
  description,
  ...(headers ? { headers } : {}),
  content: json(of, examples),
});

/** Refusals by their status: what each means stands once, under `components`. */
export const refusals = (...statuses: readonly (keyof typeof REFUSALS)[]): Part =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${REFUSALS[status]}` }]));

export const REFUSALS = {
  400: "Invalid",
  401: "Unauthenticated",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  409: "Conflict",
  413: "TooLarge",
  415: "UnsupportedMediaType",
  429: "TooMany",
  500: "Failed",
  503: "Unavailable",
} as const;

/** What every operation may answer, and what those with a body may besides. */
export const ALWAYS = [400, 401, 403, 404, 500, 503] as const;
export const WITH_BODY = [...ALWAYS, 413, 415] as const;

/** Any of these roles opens it. */
export const security = (...roles: readonly string[]): Part => ({
  security: roles.map((role) => ({ bearer: [role] })),
});
