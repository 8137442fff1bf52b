/** Opens the shop, runs the graph against it and prints the report. */
import { run } from '@heddle/core'
import makeGraph, { options } from './graph.ts'
import type { Sale } from './jobs.ts'
import { openShop } from './shop.ts'

await using shop = await openShop()
const result = await run(makeGraph([shop.url]), { ...options, journal: 'sqlite:etl.db' })
if (!result.ok) throw new Error('the report is not there', { cause: result.failed })
const rows = result.valueOf('report') as readonly Sale[]
console.log(`${shop.requests - shop.refused} pages in ${(result.duration / 1_000).toFixed(1)} s`)
for (const { shop: name, cents } of rows)
  console.log(`${name.padEnd(8)} ${(cents / 100).toFixed(2)}`)
console.log(`run ${result.run} in etl.db: heddle runs artifacts last --journal sqlite:etl.db`)
