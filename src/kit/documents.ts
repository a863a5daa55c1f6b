import { isEqual, isRefused, isThere, isTrue } from "./expect";
import { AWKWARD } from "./merging-tasks";
import { isAscending, madeBy, parsed, stage, taskOf, times, writtenBy } from "./stage";
import type { ContractCase } from "./subject";

/** What a file, a URL or a query would read as something else. */
const PATHS = ["t/1", "t_1", "t%2F1", "T/1", "t/1/", "/t/1", "../t/1", "a+b", "a?b#c", "%", "%zz", "a.b"];

const OTHERS = [
  "a b",
  " a b",
  "{}",
  "ä",
  "a\u0308",
  "💥",
  "__proto__",
  "a\nb",
  '"quoted"',
  "a'b; --",
  "a\\b",
  "NULL",
  ":id",
];

/** A store that saves whole documents under ids of any kind. */
export const documents: readonly ContractCase[] = [
  {
    id: "T1",
    title: "a save stores the document verbatim, and the next takes its whole place",
    run: async (subject) => {
      const { worker, clientA, id } = stage(subject);
      const first = await worker.save("files", id(), AWKWARD);
      isEqual([first.document, first.version], [AWKWARD, 1], "a save makes what was not there");
      isEqual([first.id, first.task, first.owner], [id(), null, null], "a document has no fields of a task");
      const second = await worker.save("files", id(), '{"id":"x","status":{"state":"working"}}');
      isEqual(second.document, '{"id":"x","status":{"state":"working"}}', "what the next leaves out is gone");
      isEqual([second.version, second.createdAt], [2, first.createdAt], "it is the same record");
      isEqual((await clientA.save("documents", id(), AWKWARD)).document, AWKWARD, "also for a client of its own");
      for (const broken of ["", "[]", "null", '{"a":', '{"a":1}x', "{a:1}"]) {
        await isRefused(worker.save("files", id(), broken), ["invalid"], `${broken} is no document`);
      }
      isEqual(await worker.get("files", id()), second, "what was refused has changed nothing");
    },
  },
  {
    id: "T2",
    title: "get gives the last document saved, or nothing",
    run: async (subject) => {
      const { worker, id } = stage(subject);
      isEqual(await worker.get("files", id()), null, "nothing was saved");
      await worker.save("files", id(), '{"n":1}');
      const last = await worker.save("files", id(), '{"n":2}');
      isEqual(await worker.get("files", id()), last, "the last one counts");
      isTrue(await worker.remove("files", id()), "it goes");
      isEqual(await worker.get("files", id()), null, "and is nothing again");
    },
  },
  {
    id: "T3",
    title: "every save is a revision, the same again too, and an admin reads them",
    run: async (subject) => {
      const { admin, worker, clientA, id } = stage(subject);
      for (const document of ['{"n":1}', '{"n":1}', '{"n":2}']) await worker.save("files", id(), document);
      const kept = isThere(await admin.revisions("files", id(), { any: true }), "there are revisions");
      const seen = kept.map(({ version, document }) => [version, document]);
      const expected = [
        [3, '{"n":2}'],
        [2, '{"n":1}'],
        [1, '{"n":1}'],
      ];
      isEqual(seen, expected, "each save is kept, newest first");
      isAscending(kept.map(({ at }) => at).reverse(), "their times are in order");
      isEqual(await worker.revisions("files", id("unknown")), null, "unknown is not found");
      const own = await clientA.save("documents", id(), '{"n":1}');
      const forAdmins = ["invalid", "insufficient_scope"];
      await isRefused(clientA.revisions("documents", own.id), forAdmins, "a client does not read them");
      const asOwner = { owner: own.owner };
      isEqual((await admin.revisions("documents", own.id, asOwner))?.length, 1, "an admin reads them for any owner");
    },
  },
  {
    id: "T4",
    title: "whoever reads while others save gets one of the documents, whole",
    run: async (subject) => {
      const { worker, admin, id } = stage(subject);
      const documentOf = (n: number) => JSON.stringify({ n, all: times(500, () => n) });
      await worker.save("files", id(), documentOf(0));
      const saves = times(20, (n) => worker.save("files", id(), documentOf(n + 1)));
      const reads = times(40, async () => {
        const record = isThere(await admin.get("files", id()), "there always is one");
        const { n, all } = parsed(record.document) as { readonly n: number; readonly all: readonly number[] };
        isTrue(all.length === 500 && all.every((one) => one === n), "a document is of one save");
      });
      const saved = await Promise.all(saves);
      await Promise.all(reads);
      const versions = saved.map(({ version }) => version).sort((a, b) => a - b);
      isEqual(
        versions,
        times(20, (n) => n + 2),
        "each save was a write of its own",
      );
    },
  },
  {
    id: "T5",
    title: "what was just saved is found by another client",
    run: async (subject) => {
      const { worker, admin, id } = stage(subject);
      await Promise.all(
        times(20, async (n) => {
          const saved = await worker.save("files", id(String(n)), `{"n":${n}}`);
          isEqual(await admin.get("files", saved.id), saved, "it is found at once");
        }),
      );
    },
  },
  {
    id: "T7",
    title: "a task that waits for input is in the same state after a restart",
    run: async (subject) => {
      const { worker, id } = stage(subject);
      const waiting = '{"id":"1","status":{"state":"input-required","message":"Sign in"}}';
      const document = await worker.save("files", id(), waiting);
      madeBy(await worker.create("strict", { id: id() }));
      const asked = writtenBy(await worker.setQuestions("strict", id(), '{"q":{"method":"elicitation/create"}}'));
      await subject.restart?.();
      isEqual(await worker.get("files", id()), document, "the document is the same");
      isEqual(await worker.get("strict", id()), asked, "the task is the same");
      const answered = writtenBy(await worker.resolve("strict", id(), '{"q":{}}'));
      isEqual(taskOf(answered).status, "working", "and goes on from there");
    },
  },
  {
    id: "T9",
    title: "any text is an id, no two of which meet, up to 512 characters",
    run: async (subject) => {
      const { worker, id } = stage(subject);
      const texts = [...PATHS, ...OTHERS];
      const ids = texts.map((text) => `${text}${id("")}`);
      const longest = id("").padEnd(512, "x");
      for (const one of [...ids, longest]) await worker.save("files", one, JSON.stringify({ one }));
      for (const one of [...ids, longest]) {
        const record = isThere(await worker.get("files", one), `${one} is found`);
        isEqual([record.id, parsed(record.document)], [one, { one }], "it is the one that was saved");
      }
      for (const one of ["", ".", "..", `${longest}x`, "\ud800"]) {
        await isRefused(worker.create("files", { id: one }), ["invalid"], `${JSON.stringify(one)} is no id`);
      }
    },
  },
];
