import { runOnPostgres } from './run-on-postgres.ts'

/** What people write and see in the page. How it looks is the same on each engine. */
await runOnPostgres(['page/editing', 'page/sheet', 'page/together'])
