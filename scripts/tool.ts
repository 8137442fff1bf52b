/** Starts the tools of the repository: always the locked version, with the Node that runs us. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'

export const root: string = path.dirname(import.meta.dirname)

export interface ToolResult {
  readonly ok: boolean
  /** Standard output and errors, in the order in which they came. */
  readonly output: string
}

/** Programs whose package has another name. */
const packageOf: Readonly<Record<string, string>> = {
  tsc: 'typescript',
  attw: '@arethetypeswrong/cli',
}

/** The file behind `node_modules/.bin/<program>`, which on Windows is a batch file nobody can spawn. */
function fileOf(program: string): string {
  const folder = path.join(root, 'node_modules', packageOf[program] ?? program)
  const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
    bin: string | Record<string, string>
  }
  const file = typeof manifest.bin === 'string' ? manifest.bin : manifest.bin[program]
  if (file === undefined) throw new Error(`${folder} has no program ${program}`)
  return path.join(folder, file)
}

/** Runs a program of a dependency and collects what it prints. */
export function runTool(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string } = {},
): Promise<ToolResult> {
  return runNode([fileOf(program), ...args], options)
}

/** Runs a file with this Node and collects what it prints. */
export function runNode(
  args: readonly string[],
  options: { readonly cwd?: string } = {},
): Promise<ToolResult> {
  return collect(spawn(process.execPath, args, spawnOptions(options.cwd)))
}

/** Runs npm: a batch file on Windows, which only a shell can start. */
export function runNpm(
  args: readonly string[],
  options: { readonly cwd?: string } = {},
): Promise<ToolResult> {
  const shell = process.platform === 'win32'
  return collect(spawn('npm', args, { ...spawnOptions(options.cwd), shell }))
}

function spawnOptions(cwd: string = root): { cwd: string; stdio: ['ignore', 'pipe', 'pipe'] } {
  return { cwd, stdio: ['ignore', 'pipe', 'pipe'] }
}

function collect(child: ReturnType<typeof spawn>): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    let output = ''
    const add = (chunk: string): void => {
      output += chunk
    }
    child.stdout?.setEncoding('utf8').on('data', add)
    child.stderr?.setEncoding('utf8').on('data', add)
    child.on('error', reject)
    child.on('close', (code) => {
      resolve({ ok: code === 0, output })
    })
  })
}
