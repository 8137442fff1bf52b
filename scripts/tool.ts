/** Starts the tools of the repository: always the locked version, with the Node that runs us. */
import { spawn, type SpawnOptions } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'

export const root: string = path.dirname(import.meta.dirname)

export interface ToolResult {
  readonly ok: boolean
  /** Standard output and errors, in the order in which they came. */
  readonly output: string
}

/** Folders of the packages that are published: those under packages/ that are not private. */
export function publicPackages(): string[] {
  const parent = path.join(root, 'packages')
  return readdirSync(parent)
    .map((name) => path.join(parent, name))
    .filter((folder) => {
      const text = readFileSync(path.join(folder, 'package.json'), 'utf8')
      return (JSON.parse(text) as { private?: boolean }).private !== true
    })
}

export interface ToolOptions {
  /** The root of the repository when absent. */
  readonly cwd?: string
  /** That of this process when absent. */
  readonly env?: NodeJS.ProcessEnv
  /** Another Node than the one that runs us. */
  readonly node?: string
}

/** Programs whose package has another name. */
const packageOf: Readonly<Record<string, string>> = {
  tsc: 'typescript',
  attw: '@arethetypeswrong/cli',
}

/** The file behind `node_modules/.bin/<program>`, which on Windows is a batch file that cannot be spawned. */
function fileOf(program: string): string {
  const folder = path.join(root, 'node_modules', packageOf[program] ?? program)
  const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
    bin: string | Record<string, string>
  }
  const file = typeof manifest.bin === 'string' ? manifest.bin : manifest.bin[program]
  if (file === undefined) throw new Error(`${folder} has no program ${program}`)
  return path.join(folder, file)
}

/** Runs a program of a dependency and collects its output. */
export function runTool(
  program: string,
  args: readonly string[],
  options: ToolOptions = {},
): Promise<ToolResult> {
  return runNode([fileOf(program), ...args], options)
}

/** Runs a file with this Node and collects what it prints. */
export function runNode(args: readonly string[], options: ToolOptions = {}): Promise<ToolResult> {
  return collect(spawn(options.node ?? process.execPath, args, spawnOptions(options)))
}

/** Runs npm: a batch file on Windows, which only a shell can start. */
export function runNpm(args: readonly string[], options: ToolOptions = {}): Promise<ToolResult> {
  const shell = process.platform === 'win32'
  return collect(spawn('npm', args, { ...spawnOptions(options), shell }))
}

function spawnOptions({ cwd = root, env }: ToolOptions): SpawnOptions {
  return { cwd, stdio: ['ignore', 'pipe', 'pipe'], ...(env && { env }) }
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
