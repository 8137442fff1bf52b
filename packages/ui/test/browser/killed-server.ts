/** A server in a process of its own, for a test that kills it: prints its address. */
import { openServed } from './served.ts'

const [store = 'memory', port = '0'] = process.argv.slice(2)
const { url } = await openServed({ store, port: Number(port) })
process.stdout.write(`${url}\n`)
// The test that has started it leaves.
process.stdin.on('end', () => process.exit(0)).resume()
