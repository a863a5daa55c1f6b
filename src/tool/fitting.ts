/**
 * The type of what fits a JSON Schema, as far as `enum`, `type`, `items`, `properties` and `required` tell; other keywords
 * only narrow it down. A schema whose literal types are lost tells nothing, and its values are `unknown`.
 */
export type Fitting<S> = S extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : S extends { readonly type: readonly (infer Type)[] }
    ? OfType<S, Type>
    : S extends { readonly type: infer Type }
      ? OfType<S, Type>
      : unknown;

type OfType<S, Type> = Type extends "string"
  ? string
  : Type extends "integer" | "number"
    ? number
    : Type extends "boolean"
      ? boolean
      : Type extends "null"
        ? null
        : Type extends "array"
          ? readonly (S extends { readonly items: infer Item } ? Fitting<Item> : unknown)[]
          : Type extends "object"
            ? FittingObject<S>
            : unknown;

/** With properties, those: others may be there too, but then nothing is known of them. */
export type FittingObject<S> = S extends { readonly properties: infer Properties }
  ? { readonly [Name in keyof Properties & RequiredIn<S>]: Fitting<Properties[Name]> } & {
      readonly [Name in Exclude<keyof Properties, RequiredIn<S>>]?: Fitting<Properties[Name]> | undefined;
    }
  : Readonly<Record<string, unknown>>;

type RequiredIn<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;
