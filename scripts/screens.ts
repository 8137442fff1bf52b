/**
 * Takes pictures of the live view of `heddle run` in a real terminal: three sizes, 10 and 10,000 nodes, with and
 * without colour. Each run is interrupted once and resumed, so that the bar shows reused nodes.
 *
 *   node scripts/setup.mjs scripts/screens.ts [folder]
 *
 * Writes one `.txt` for each, as a person sees it, and one `.ansi` with the escape sequences: `cat` it in a terminal of
 * its size.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { cleanEnv, fixture, launcher } from '../packages/cli/test/support/program.ts'
import { Pty, whyNoTerminal } from '../packages/cli/test/support/pty.ts'

const sizes = [
  [200, 50],
  [80, 24],
  [40, 10],
] as const

interface Picture {
  readonly nodes: number
  readonly columns: number
  readonly rows: number
  readonly color: boolean
}

const folder = path.resolve(process.argv[2] ?? 'screens')
const module = fixture('catalogue.ts')

async function take({ nodes, columns, rows, color }: Picture): Promise<void> {
  const name = `${nodes}-${columns}x${rows}-${color ? 'color' : 'plain'}`
  const cwd = path.join(folder, `run-${name}`)
  await mkdir(cwd, { recursive: true })
  const env = cleanEnv(color ? {} : { NO_COLOR: '1' })
  const run = (more: string): string =>
    `exec '${process.execPath}' --conditions=heddle-source '${launcher}' run '${module}' -c 64 ${more} -- ${nodes}`
  {
    using first = new Pty(run(''), { columns, rows, cwd, env })
    await first.see(nodes > 100 ? /\b[3-9]\d\d\/|,\d\d\d\// : /[2-9]\/\d+/)
    first.type('\u0003')
    await first.see(/CANCELLING/)
    first.type('\u0003')
    await first.closed()
  }
  using terminal = new Pty(run('--resume'), { columns, rows, cwd, env })
  await terminal.see(nodes > 100 ? /running[^]* [1-9]\.\d s/ : /running[^]* [3-9]\.\d s/)
  await writeFile(path.join(folder, `${name}.txt`), `${terminal.screen}\n`)
  await writeFile(path.join(folder, `${name}.ansi`), terminal.raw)
  terminal.type('\u0003\u0003\u0003')
  await terminal.closed()
  await rm(cwd, { recursive: true })
  console.log(name)
}

const why = whyNoTerminal()
if (why !== false) throw new Error(why)
await mkdir(folder, { recursive: true })
for (const nodes of [10, 10_000]) {
  for (const [columns, rows] of sizes) {
    for (const color of [true, false]) await take({ nodes, columns, rows, color })
  }
}
