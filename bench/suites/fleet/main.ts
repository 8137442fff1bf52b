/**
 * The load generator by hand: `npm run test:load -- --workers 10000 --speed 10 --store sqlite`.
 * The last line on stdout is one JSON object. Exit code 0 when both sides agree on leases and units, and no call failed.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { CleanupStack } from '@heddle/core/lowlevel'
import { openKeeper, startPostgres } from '@heddle/test-servers'
import { machineLoad, describeLoad } from '../../harness/machine-lock.ts'
import { runScenario } from './scenario.ts'

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '10000' },
    speed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '60' },
    ramp: { type: 'string', default: '10' },
    store: { type: 'string', default: 'sqlite' },
    servers: { type: 'string', default: '1' },
    burst: { type: 'boolean', default: false },
    kill: { type: 'string', default: '0' },
    restart: { type: 'boolean', default: false },
    slow: { type: 'string', default: '0' },
    longpoll: { type: 'string', default: '0' },
    profile: { type: 'string' },
  },
})

await using stack = new CleanupStack()
const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-load-'))
stack.defer(() => rm(folder, { recursive: true, force: true }))

async function storeAddress(): Promise<string> {
  if (values.store === 'sqlite') return `sqlite:${path.join(folder, 'store.db')}`
  if (values.store !== 'postgres') return values.store
  const keeper = stack.use(await openKeeper())
  const settings = ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on']
  return `${await startPostgres(keeper, { settings })}?schema=load`
}

const say = (line: string): void => void process.stderr.write(`${line}\n`)
/** Milliseconds beside the steady load: starts, ramp, last answers. */
const around = 300_000
say(`at the start: ${describeLoad(machineLoad())}`)
const report = await runScenario(
  {
    workers: Number(values.workers),
    speed: Number(values.speed),
    seconds: Number(values.seconds),
    ramp: values.burst ? 0 : Number(values.ramp),
    store: await storeAddress(),
    servers: Number(values.servers),
    kill: Number(values.kill),
    restart: values.restart,
    slow: Number(values.slow),
    longpoll: Number(values.longpoll),
    limit: (Number(values.seconds) + Number(values.ramp)) * 1_000 + around,
    ...(values.profile !== undefined && {
      execArgv: ['--cpu-prof', `--cpu-prof-dir=${values.profile}`],
    }),
  },
  say,
)
say(`at the end:   ${describeLoad(machineLoad())}`)
say(JSON.stringify(report, undefined, 2))
console.log(JSON.stringify({ command: process.argv.slice(2).join(' '), ...report }))
process.exitCode = report.isEqual && report.steady.errors === 0 && report.steady.lost === 0 ? 0 : 1
