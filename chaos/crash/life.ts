/** Starts one life of a run and sees how it ends. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { setAsideCode } from '../growing/set-aside-code.ts'
import type { LifePlan } from './child.ts'

const program = path.join(import.meta.dirname, 'child.ts')

/** Milliseconds without an acknowledgement after which a life counts as hung: a busy machine is not a defect. */
const longestSilence = 60_000

export interface LifeOptions {
  /** Killed from outside once it has acknowledged this many nodes. */
  readonly killAfter?: number
}

export interface Life {
  readonly pid: number
  /** Set aside: everything is done but nodes that were running at three kills, which wait for a retry. */
  readonly end: 'killed' | 'finished' | 'set aside' | 'failed' | 'hung'
  /** Nodes whose success was reported, in order. A resumed run also reports those that it did not run. */
  readonly acknowledged: readonly string[]
  readonly stderr: string
}

export async function live(plan: LifePlan, options: LifeOptions = {}): Promise<Life> {
  const child = spawn(
    process.execPath,
    ['--conditions=heddle-source', program, JSON.stringify(plan)],
    { stdio: ['ignore', 'inherit', 'pipe', 'pipe'] },
  )
  let isHung = false
  const timer = setTimeout(() => {
    isHung = true
    child.kill('SIGKILL')
  }, longestSilence)
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  const stderr = readAll(child.stderr!)
  const acknowledged: string[] = []
  for await (const name of linesOf(child.stdio[3] as Readable)) {
    acknowledged.push(name)
    timer.refresh()
    if (acknowledged.length === options.killAfter) child.kill('SIGKILL')
  }
  const [code, signal] = await exited
  clearTimeout(timer)
  const end = isHung ? 'hung' : signal === 'SIGKILL' ? 'killed' : endOf(code)
  return { pid: child.pid!, end, acknowledged, stderr: await stderr }
}

function endOf(code: number | null): Life['end'] {
  if (code === setAsideCode) return 'set aside'
  return code === 0 ? 'finished' : 'failed'
}

/** Whole lines only: text after the last line end was cut off by the kill, and was not reported. */
async function* linesOf(stream: Readable): AsyncGenerator<string, void, undefined> {
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop()!
    yield* lines
  }
}

async function readAll(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += String(chunk)
  return text
}
