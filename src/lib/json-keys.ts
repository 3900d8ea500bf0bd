/**
 * A key that is one escaped sign and nothing else, such as "\n". V8 may read it as a backslash, after another object with
 * the same key before it was read (nodejs/node#63785; in 24 and 26): what was sent would be stored under another name.
 */
const LONE_ESCAPE = /(?<!\\)"\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})"\s*:/

/** Whether a valid JSON text has a key that cannot be relied on. */
export const hasLoneEscape = (json: string): boolean => LONE_ESCAPE.test(json)

export const LONE_ESCAPE_FAULT =
  'has a key that is only a quote, a backslash or a control character; choose a longer one'
