import { type Model, packageOf, pluralOf } from '../logic/model.ts'
import { to } from './address.ts'
import { listPath } from './lists.ts'

/** The crumb of a model's package, which leads home. */
export const packageCrumb = ({ model }: Model) => ({ text: packageOf(model), href: to() })

/** The way to a record: the package, and the table with the filters used last. */
export const recordCrumbs = (model: Model) => [
  packageCrumb(model),
  { text: pluralOf(model), href: listPath(model.model) },
]
