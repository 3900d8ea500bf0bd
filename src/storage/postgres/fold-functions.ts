import { fold, LETTERS, MARKS, SPACES } from '../../lib/fold.ts'
import { ORDER_CHARS } from '../../lib/order-key.ts'

/** Replaces letters that do not decompose in an expression. */
const foldedLetters = (expression: string) =>
  Object.entries(LETTERS).reduce((inner, [letter, folded]) => `replace(${inner}, '${letter}', '${folded}')`, expression)

/** Letters of Unicode 11 to 17, first and last ones: a server, or the ICU that it uses, may not know them. */
const RECENT = [
  [0x1c89, 0x1cbf],
  [0x2c2f, 0x2c2f],
  [0xa7b8, 0xa7f5],
  [0x10570, 0x10595],
  [0x105c9, 0x105e4],
  [0x10d50, 0x10d65],
  [0x16e40, 0x16eb8],
  [0x1ccd6, 0x1ccf9],
  [0x1e030, 0x1e06d],
] as const

/** Replaces those of them that are folded by what each one is folded to. */
function foldedRecent(expression: string): string {
  const letters = RECENT.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, nth) => String.fromCodePoint(first + nth)),
  ).filter((letter) => fold(letter) !== letter)
  return `translate(${expression}, '${letters.join('')}', '${letters.map(fold).join('')}')`
}

const escaped = (code: number) => `\\U${code.toString(16).padStart(8, '0')}`

/** Texts with a recent letter match this regular expression. */
const HAS_RECENT = `[${RECENT.map(([first, last]) => `${escaped(first)}-${escaped(last)}`).join('')}]`

/** `fold` and `orderKey` as functions of the database: case, accents and kinds of white space do not count. */
export const foldFunctions = (collation: string) => `
  -- Most texts are plain and short, and very few have a recent letter.
  CREATE OR REPLACE FUNCTION dossier_fold_any(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
  DECLARE
    bare text := regexp_replace(normalize(value, NFKD), '[${MARKS}]+', '', 'g');
  BEGIN
    IF octet_length(bare) = length(bare) AND bare !~ '[\\u0009-\\u000d]|  ' THEN RETURN lower(bare COLLATE "C"); END IF;
    bare := ${foldedLetters(`lower(normalize(bare, NFKC) COLLATE "${collation}")`)};
    IF bare ~ '${HAS_RECENT}' THEN bare := ${foldedRecent('bare')}; END IF;
    RETURN regexp_replace(bare, '[${SPACES}]+', ' ', 'g');
  END $$;
  CREATE OR REPLACE FUNCTION dossier_fold(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (CASE WHEN octet_length(value) = length(value) AND value !~ '[\\u0009-\\u000d]|  ' THEN lower(value COLLATE "C")
      ELSE dossier_fold_any(value) END) COLLATE "C";

  -- Indexes have it, so bodies are parsed at once: their maintenance has no search path.
  CREATE OR REPLACE FUNCTION dossier_order_key(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (replace(left(dossier_fold(left(value, ${ORDER_CHARS})), ${ORDER_CHARS}), chr(1), chr(1) || chr(2))
      || chr(1) || chr(1) || left(value, ${ORDER_CHARS})) COLLATE "C";`
