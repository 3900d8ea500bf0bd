/**
 * A key that consists of one escape sequence, such as "\n". V8 may read it as a backslash if it has parsed another
 * object with the same preceding key (nodejs/node#63785; in Node 24 and 26), and the value would be stored under a
 * wrong name.
 */
const LONE_ESCAPE = /(?<!\\)"\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})"\s*:/

/** Whether a valid JSON text has a key that V8 may read wrongly. */
export const hasLoneEscape = (json: string): boolean => LONE_ESCAPE.test(json)

export const LONE_ESCAPE_FAULT =
  'has a key that is only a quote, a backslash or a control character; choose a longer one'
