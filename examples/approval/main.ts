/** Starts an order, kills its process while it waits, approves it meanwhile, and starts it again. */
import { readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { heddle } from './heddle.ts'

const graph = path.relative(process.cwd(), path.join(import.meta.dirname, 'graph.ts'))
const order = ['run', graph, '--key', 'order-7', '--', '7']

await rm('effects.txt', { force: true })
await heddle(order, (line, child) => {
  if (line.includes('waits for an approval')) child.kill('SIGKILL')
})
console.log('(its process was killed)')

await heddle(['runs', 'send', 'last', 'approval', '{"by":"Ada","ok":true}'])

const code = await heddle(order)
console.log(`\nWhat other systems have seen, each once:\n${await readFile('effects.txt', 'utf8')}`)
process.exitCode = code ?? 1
