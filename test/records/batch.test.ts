import t from 'tap'
import type { Records } from '../../src/records/records.ts'
import { createBatch } from '../../src/records/write/batch.ts'
import { StorageFault } from '../../src/storage/storage.ts'
import { modelOf } from '../helper.ts'

t.test('what is about storage and not about an operation stays what it is', async (t) => {
  const model = modelOf('a.Thing', { type: 'object', properties: { text: { type: 'string' } } })
  const planned = { unit: { steps: [{ sql: '', parameters: [] }] }, settle: () => 0, explain: (fault: Error) => fault }
  const records = { plan: { create: () => planned } } as unknown as Records
  for (const error of [
    new Error('no'),
    new StorageFault('busy', 'no'),
    new StorageFault('full', 'no', { step: 0 }),
    new StorageFault('busy', 'no', { step: 7 }),
  ]) {
    const dialect = { tables: { keepsOrderKeys: false } }
    const storage = { dialect, write: () => Promise.reject(error) } as never
    const parts = { storage, models: new Map([[model.name, model]]), collections: new Map([[model, records]]) }
    const { write: batch } = createBatch({ ...parts, missingModel: () => error as never })
    await t.rejects(batch([{ create: 'a.Thing', data: {} }], { username: 'admin', roles: ['admin'] }), error)
    const planning = {
      ...records,
      plan: {
        create: () => {
          throw error
        },
      },
    } as unknown as Records
    const { write: early } = createBatch({
      ...parts,
      collections: new Map([[model, planning]]),
      missingModel: () => error as never,
    })
    await t.rejects(early([{ create: 'a.Thing', data: {} }], { username: 'admin', roles: ['admin'] }), error)
  }
})
