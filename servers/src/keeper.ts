/**
 * The program that starts servers, and stops them however its parent ends: a bench or a test run.
 *
 *     starting ──folder──▶ serving ──(disconnect, signal)──▶ stopping ──▶ gone
 *
 *  K1  When the parent is gone, for whatever reason, so are the servers and the folder: the channel to the
 *      parent closes with its process, also when that was killed. The parent needs no handler of its own.
 *  K2  Only processes that were started here are stopped, by their handle, never by name.
 *  K3  A server that does not end when asked is killed after a while.
 *
 * Known limit: killing the keeper itself leaves its servers behind.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chown, chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { isOpenToAll } from './open-to-all.ts'
import type { Command, EndServer, FromKeeper, ServerPlan, ToKeeper } from './messages.ts'
import { waitLine } from './wait-line.ts'

/** Milliseconds that a server has to become ready, and to end. */
const startLimit = 60_000
const stopLimit = 10_000

const running = new Map<ChildProcess, ServerPlan>()
let isStopping = false

// Servers run as users of their own and have to get through to their folders.
const parent = process.getuid?.() === 0 && !isOpenToAll(os.tmpdir()) ? '/tmp' : os.tmpdir()
const folder = await mkdtemp(path.join(parent, 'heddle-servers-'))
await chmod(folder, 0o711)

process.on('message', (message: ToKeeper) => {
  const { id } = message
  const done = 'start' in message ? start(message.start) : endServer(message.end)
  done.then(
    () => tell({ id, failure: undefined }),
    (error: unknown) =>
      tell({ id, failure: error instanceof Error ? error.message : String(error) }),
  )
})
process.once('disconnect', () => void stop())
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop())
if (process.connected) tell({ folder })
else await stop()

function tell(message: FromKeeper): void {
  // The parent may be gone: then the answer is not needed, and K1 does the rest.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
}

async function start(plan: ServerPlan): Promise<void> {
  const own = path.join(folder, plan.folder)
  await mkdir(own, { mode: 0o700, recursive: true })
  for (const [name, content] of Object.entries(plan.files)) {
    const file = path.join(own, name)
    await writeFile(file, content, { mode: 0o600 })
    if (plan.owner !== undefined) await chown(file, plan.owner.uid, plan.owner.gid)
  }
  if (plan.owner !== undefined) await chown(own, plan.owner.uid, plan.owner.gid)
  for (const command of plan.before) await runToEnd(command, plan)
  await startServer(plan)
}

function launch({ file, args }: Command, plan: ServerPlan): ChildProcess {
  if (isStopping) throw new Error('the process that started the servers has ended')
  const child = spawn(file, args, {
    cwd: path.join(folder, plan.folder),
    stdio: ['ignore', 'pipe', 'pipe'],
    // Messages that are looked for must not be translated.
    env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
    ...plan.owner,
  })
  running.set(child, plan)
  const forget = (): boolean => running.delete(child)
  child.once('exit', forget)
  child.once('error', forget)
  return child
}

async function runToEnd(command: Command, plan: ServerPlan): Promise<void> {
  const child = launch(command, plan)
  let output = ''
  const keepEnd = (chunk: string): void => {
    output = (output + chunk).slice(-1000)
  }
  child.stdout!.setEncoding('utf8').on('data', keepEnd)
  child.stderr!.setEncoding('utf8').on('data', keepEnd)
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`${path.basename(command.file)} failed: ${output.trim()}`)
}

async function startServer(plan: ServerPlan): Promise<void> {
  const name = path.basename(plan.server.file)
  const child = launch(plan.server, plan)
  const broken = new Promise<never>((_, reject) => child.once('error', reject))
  const tooLate = setTimeout(() => child.kill('SIGKILL'), startLimit)
  try {
    await Promise.race([waitLine([child.stdout!, child.stderr!], new RegExp(plan.ready)), broken])
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${name} did not start: ${reason}`, { cause: error })
  } finally {
    clearTimeout(tooLate)
  }
}

async function stop(): Promise<void> {
  if (isStopping) return
  isStopping = true
  await Promise.all([...running].map(([child, { stopSignal }]) => end(child, stopSignal)))
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  process.exit(0)
}

async function endServer({ folder: name, signal }: EndServer): Promise<void> {
  const found = [...running].filter(([, plan]) => plan.folder === name)
  await Promise.all(found.map(([child]) => end(child, signal)))
}

async function end(child: ChildProcess, signal: EndServer['signal']): Promise<void> {
  const ended = once(child, 'exit')
  child.kill(signal)
  const tooLate = setTimeout(() => child.kill('SIGKILL'), stopLimit)
  await ended
  clearTimeout(tooLate)
}
