/**
 * What `npm start` runs: in a terminal the sample with its dashboard; in CI, without a terminal, or with options
 * `heddle run graph.ts`; with --kill-demo the same with an accident in between.
 */
import { dashboard } from './dashboard.ts'
import { graphFile, heddle } from './heddle.ts'
import { killDemo } from './kill-demo.ts'

const args = process.argv.slice(2)
const options = ['--concurrency', '4', ...args.filter((arg) => arg !== '--kill-demo')]

const hasReader = process.stdout.isTTY && process.env['CI'] === undefined
if (args.length === 0 && hasReader) {
  process.exitCode = await dashboard(4_500)
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
