/** What the project `objects` of vitest.config.ts binds beside what `wrangler.toml` does. */
type TestDatabase = { readonly DB: D1Database };
