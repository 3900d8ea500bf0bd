/**
 * Names of models, components and operations in generated code. Each name depends on the name of its model alone, so
 * that another model file never renames what a client was generated from.
 */

/** Prefix of the service's own components. */
const OWN_PREFIX = 'Dossier'
/** Name of one of the service's own components. */
export const ownName = (name: string) => `${OWN_PREFIX}${name}`

/** The components of a model, by what they add to its name. */
const SUFFIXES = [
  'Page',
  'Answer',
  'Row',
  'New',
  'Change',
  'Criteria',
  'Criterion',
  'Conflict',
  'HistoryEntry',
] as const
/** Endings of a model's name in components, operations and types of the client. */
const AFTER_NAME = [...SUFFIXES, 'History', 'Query']
/** Packages whose models could get the names of operations such as `findDeletedX`. No package is called `dossier`. */
const RESERVED = ['deleted', 'aggregate']
/** Only of such names, the parts can be told from `ShopOrder`: the package ends where the second capital begins. */
const SIMPLE = /^([a-z][a-z0-9]*)\.([A-Z][A-Za-z0-9]*)$/

/** Name of a model in generated code: `ShopOrder` for `shop.Order`, and `a__B__C` for the less usual `a.B.C`. */
export function componentName(model: string): string {
  const [, folder = '', word = ''] = SIMPLE.exec(model) ?? []
  const isAmbiguous = AFTER_NAME.some((suffix) => model.endsWith(suffix))
  if (folder !== '' && !isAmbiguous && !RESERVED.includes(folder))
    return folder.charAt(0).toUpperCase() + folder.slice(1) + word
  // No word of a model's name has two underscores in a row, or one at the end.
  return model.replaceAll('.', '__') + (isAmbiguous ? '_' : '')
}

/** The names of a model's components. */
export function componentsNamed(model: string) {
  const name = componentName(model)
  return {
    record: name,
    page: `${name}Page`,
    answer: `${name}Answer`,
    row: `${name}Row`,
    create: `${name}New`,
    update: `${name}Change`,
    criteria: `${name}Criteria`,
    criterion: `${name}Criterion`,
    conflict: `${name}Conflict`,
    historyEntry: `${name}HistoryEntry`,
  } satisfies Record<string, string>
}
