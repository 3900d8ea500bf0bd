import type { Statement } from '../storage.ts'
import { Connection } from './connection.ts'

/** A part of a plan, as EXPLAIN tells it. */
interface Node {
  'Node Type': string
  'Relation Name'?: string
  'Index Cond'?: string
  'Sort Key'?: string[]
  Filter?: string
  Plans?: Node[]
}

/** Of small tables all would be read rather than an index used, and what is known of large ones may be old. */
const AS_IF_LARGE = 'SET enable_seqscan = off; SET enable_bitmapscan = off'

/** Whether a statement has to go through a whole table, or sort it, whatever the planner thinks of its size. */
export function needsScan(url: string, { sql, parameters }: Statement, table: string): Promise<boolean> {
  return Connection.with(url, async (connection) => {
    await connection.runOnce({ sql: AS_IF_LARGE, parameters: [] })
    const rows = await connection.runOnce({ sql: `EXPLAIN (FORMAT JSON) ${sql}`, parameters })
    const [{ 'QUERY PLAN': plans }] = rows as unknown as [{ 'QUERY PLAN': [{ Plan: Node }] }]
    return allNodes(plans[0].Plan).some((node) => isThrough(node, table))
  })
}

function isThrough(node: Node, table: string): boolean {
  // The id is always the last of what is sorted by: to sort by that alone is to sort what was found by an index.
  if (node['Node Type'] === 'Sort') return (node['Sort Key'] as string[]).length > 1
  if (node['Relation Name'] !== table) return false
  return node['Node Type'] === 'Seq Scan' || (node['Index Cond'] === undefined && node.Filter !== undefined)
}

const allNodes = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(allNodes)]
