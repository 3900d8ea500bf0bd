import t from 'tap'
import { startApp } from '../helper.ts'
import { rightsRound } from '../rights/round.ts'

/** Random models, rules, people and data: nothing that is out of reach may appear, or change an answer. */
const ROUNDS = Number(process.env.RIGHTS_ROUNDS ?? 3)
const REQUESTS = Number(process.env.RIGHTS_REQUESTS ?? 120)
const FIRST = Number(process.env.RIGHTS_SEED ?? 1)

for (let seed = FIRST; seed < FIRST + ROUNDS; seed++)
  t.test(`random rights ${seed}`, async (t) => {
    const fault = await rightsRound(seed, REQUESTS, async (models) => {
      const service = await startApp(t, { models })
      return { admin: await service.login(), loginAs: (username) => service.login(username) }
    })
    t.equal(fault, undefined)
  })
