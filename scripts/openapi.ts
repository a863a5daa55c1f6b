// Writes the OpenAPI document of the store API where it is served as a static file: the Worker need not carry it.
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { openapi } from "./openapi/document.ts";

const file = resolve(import.meta.dirname, "../src/store-api/assets/store/v1/openapi.json");
writeFileSync(file, `${JSON.stringify(openapi, null, 2)}\n`);
console.log(`Written: ${file}`);
