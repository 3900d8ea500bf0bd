import { GERMAN_BASICS } from './german-basics.ts'
import { GERMAN_MESSAGES } from './german-messages.ts'
import { GERMAN_MODELS } from './german-models.ts'
import { GERMAN_PLANS } from './german-plans.ts'
import { GERMAN_RECORD } from './german-record.ts'
import { GERMAN_RECORDS } from './german-records.ts'

/**
 * The German texts of the page, by the English ones. Du is never used; the reader is addressed by Sie or not at all.
 */
export const GERMAN: Record<string, string> = {
  ...GERMAN_BASICS,
  ...GERMAN_MODELS,
  ...GERMAN_RECORD,
  ...GERMAN_RECORDS,
}

/** All that a reader of German needs. */
export const GERMAN_TABLE = { texts: GERMAN, messages: { ...GERMAN_MESSAGES, ...GERMAN_PLANS } }
