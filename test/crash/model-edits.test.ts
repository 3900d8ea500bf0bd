import t from 'tap'
import { startApp, writeModel } from '../helper.ts'
import { fileOf, makeTargets, Oracle, randomNumbers, TARGET } from './model-edits.ts'

t.test('random sequences of edits: every value, total and refusal is what it should be', async (t) => {
  for (const seed of [1, 2]) {
    const oracle = new Oracle(randomNumbers(seed))
    const service = await startApp(t, { models: { 'edit.Thing.json': oracle.file, 'edit.Target.json': TARGET } })
    const client = await service.login()
    await makeTargets(client)
    const edits: boolean[] = []
    for (let round = 0; round < 12; round++) {
      t.strictSame(await oracle.write(client, 6), [])
      const next = oracle.nextFields()
      const isAccepted = oracle.accepts(next)
      writeModel(service.folder, 'edit.Thing.json', fileOf(next))
      await service.service.reload()
      const { models } = (await client.get('/health')).body.data[0]
      const edit = `seed ${seed}, round ${round}: ${JSON.stringify(next)}`
      t.equal(models.current, isAccepted, `${edit} ${models.why ?? ''}`)
      if (isAccepted) oracle.follow(next)
      else {
        writeModel(service.folder, 'edit.Thing.json', oracle.file)
        await service.service.reload()
      }
      edits.push(isAccepted)
      t.strictSame(await oracle.check(client), [], edit)
    }
    t.ok(edits.includes(true), `${edits.filter(Boolean).length} of ${edits.length} edits were carried out`)
    await service.close()
  }
})
