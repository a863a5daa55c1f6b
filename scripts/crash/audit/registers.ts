// What one client at a time writes.
import type { Register } from "../register.ts";
import { findings } from "./evidence.ts";

/** At any instant a document is as it was last saved, or as a save wants it whose answer was lost. */
export const documentsKept = findings("saves are kept", function* ({ storage, journal }) {
  const stored = new Map(storage.records.map((record) => [`${record.namespace}/${record.id}`, record]));
  for (const [name, register] of journal.documents.all) {
    const record = stored.get(name);
    const text = record?.version ? record.documents?.get(record.version) : undefined;
    yield* faultsOf(`document ${name}`, register, text === undefined ? null : saveIn(text));
  }
});

/** The same of tools. Their counter, which the cap goes by, is the number of them. */
export const toolsKept = findings("tools are kept", function* ({ storage, journal }) {
  const { declared, counted } = storage.tools ?? { declared: new Map<string, string>(), counted: 0 };
  for (const [name, register] of journal.tools.all) {
    const text = declared.get(name);
    const description = text === undefined ? null : (JSON.parse(text) as { readonly description: string }).description;
    yield* faultsOf(`tool ${name}`, register, description);
  }
  if (counted !== declared.size) yield `There are ${declared.size} tools, and ${counted} are counted.`;
});

function* faultsOf(what: string, register: Register, stored: string | null): Generator<string> {
  if (!register.mayHold(stored)) yield `The ${what} is to be ${register.told()}, and ${stored ?? "nothing"} is stored.`;
}

/** Empty where it is no save at all. */
const saveIn = (text: string): string => (JSON.parse(text) as { readonly save?: string }).save ?? "";
