import type { Plugin } from "rolldown";
import { minify, type SourceMapOptions } from "terser";

/**
 * Terser before the bundler's own minifier: each finds what the other leaves. Only what it knows to be safe, and that
 * no getter here does more than give a value; its `unsafe` options would win less than a thousandth.
 */
export const smallest: Plugin = {
  name: "smallest",
  async renderChunk(code) {
    const sourceMap: SourceMapOptions = { asObject: true };
    const options = {
      module: true,
      toplevel: true,
      ecma: 2020,
      keep_fargs: false,
      pure_getters: true,
      inline: 1,
      passes: 2,
    } as const;
    const small = await minify(code, { module: true, ecma: 2020, compress: options, sourceMap });
    if (small.code === undefined || !small.map || typeof small.map === "string")
      throw new Error("terser gave no code.");
    return { code: small.code, map: JSON.stringify(small.map) };
  },
};
