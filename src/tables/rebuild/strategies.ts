import type { TableDialect } from '../../storage/storage.ts'
import { createConcurrentCopy } from './concurrent-copy.ts'
import type { Rebuilder } from './rebuilder.ts'
import { createShadowCopy } from './shadow-copy.ts'

export const rebuilderFor = ({ rebuild }: TableDialect): Rebuilder =>
  rebuild.strategy === 'shadow-copy' ? createShadowCopy(rebuild) : createConcurrentCopy(rebuild)
