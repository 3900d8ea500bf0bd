import type { Statement } from '../storage.ts'
import { Connection } from './connection.ts'

/** A node of a plan that EXPLAIN returns. */
interface Node {
  'Node Type': string
  'Relation Name'?: string
  'Index Cond'?: string
  'Sort Key'?: string[]
  Filter?: string
  Plans?: Node[]
}

/** The planner prefers to scan small tables, and its statistics of large ones may be outdated. */
const AS_IF_LARGE = 'SET enable_seqscan = off; SET enable_bitmapscan = off'

/** Whether a statement has to scan or sort a whole table, whatever size the planner assumes. */
export function needsScan(url: string, { sql, parameters }: Statement, table: string): Promise<boolean> {
  return Connection.with(url, async (connection) => {
    await connection.runUnprepared({ sql: AS_IF_LARGE, parameters: [] })
    const rows = await connection.runUnprepared({ sql: `EXPLAIN (FORMAT JSON) ${sql}`, parameters })
    const [{ 'QUERY PLAN': plans }] = rows as unknown as [{ 'QUERY PLAN': [{ Plan: Node }] }]
    return allNodes(plans[0].Plan).some((node) => isThrough(node, table))
  })
}

function isThrough(node: Node, table: string): boolean {
  // The id is always the last sort key. A sort by the id alone only sorts rows that an index has found.
  if (node['Node Type'] === 'Sort') return (node['Sort Key'] as string[]).length > 1
  if (node['Relation Name'] !== table) return false
  return node['Node Type'] === 'Seq Scan' || (node['Index Cond'] === undefined && node.Filter !== undefined)
}

const allNodes = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(allNodes)]
