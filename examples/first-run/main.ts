/**
 * What `npm start` runs: in a terminal the sample with its dashboard and two workers, on another port with --port; in CI,
 * without a terminal, or with other options `heddle run graph.ts`; with --kill-demo the same with an accident in between.
 */
import { dashboard } from './dashboard.ts'
import { graphFile, heddle } from './heddle.ts'
import { killDemo } from './kill-demo.ts'

const [args, port] = takePort(process.argv.slice(2))
const options = ['--concurrency', '4', ...args.filter((arg) => arg !== '--kill-demo')]

const hasReader = process.stdout.isTTY && process.env['CI'] === undefined
if (args.length === 0 && hasReader) {
  process.exitCode = await dashboard(port)
} else if (args.includes('--kill-demo')) {
  process.exitCode = await killDemo(graphFile, options)
} else {
  process.exitCode = await heddle('run', graphFile, ...options)
  if (process.exitCode === 0 && !args.includes('--json')) {
    console.log(`
  npx heddle runs timeline last    draws when each job waited and ran
  npm start -- --kill-demo         kills the run in the middle and resumes it`)
  }
}

/** The arguments without `--port N`, and the port. */
function takePort(given: readonly string[]): readonly [args: readonly string[], port: number] {
  const at = given.indexOf('--port')
  return at < 0 ? [given, 4_500] : [given.toSpliced(at, 2), Number(given[at + 1])]
}
