/** What `npm start` runs: `heddle run graph.ts`, or with --kill-demo the same with an accident in between. */
import { graphFile, heddle } from './heddle.ts'
import { killDemo } from './kill-demo.ts'

const args = process.argv.slice(2)
const options = ['--concurrency', '4', ...args.filter((arg) => arg !== '--kill-demo')]

if (args.includes('--kill-demo')) {
  process.exitCode = await killDemo(graphFile, options)
} else {
  process.exitCode = await heddle('run', graphFile, ...options)
  if (process.exitCode === 0 && !args.includes('--json')) {
    console.log(`
  npx heddle runs timeline last    draws when each job waited and ran
  npm start -- --kill-demo         kills the run in the middle, and goes on with it`)
  }
}
