import type { TableDialect } from '../../storage/storage.ts'
import { createInPlace } from './in-place.ts'
import type { Rebuilder } from './rebuilder.ts'
import { createShadowCopy } from './shadow-copy.ts'

export const rebuilderFor = ({ rebuild }: TableDialect): Rebuilder =>
  rebuild.strategy === 'in-place' ? createInPlace(rebuild) : createShadowCopy(rebuild)
