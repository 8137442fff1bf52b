/** The program of `prepareResume`: `map-first-life.ts <address> <elements> <window>`. All elements but the last end. Prints the run's id. */
import { run } from '@heddle/core'
import { openJournal } from '@heddle/core/lowlevel'
import { mapOf } from './map.ts'

const [address = '', size = '', window = ''] = process.argv.slice(2)
await using journal = await openJournal(address)
const graph = mapOf(Number(size), Number(window), { isLastBroken: true })
const { run: id } = await run(graph, { journal, concurrency: Number(window) })
console.log(id)
