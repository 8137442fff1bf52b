import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export interface VerdaccioOptions {
  /** Another registry, from which missing packages are fetched. Without one nothing is fetched. */
  readonly upstream?: string
  /** More lines for its configuration file, as YAML. */
  readonly config?: string
}

/** A real registry on this machine, empty at first. */
export interface Verdaccio extends AsyncDisposable {
  /** Without a slash at its end. */
  readonly url: string
  readonly pid: number
  /** What it holds; gone when it is closed. */
  readonly folder: string
  close(): Promise<void>
}

const entry = new URL(
  import.meta.url.endsWith('.ts') ? './verdaccio-child.ts' : './verdaccio-child.js',
  import.meta.url,
)

/** Every user may do everything. */
const configFor = (upstream: string | undefined): string => `
storage: ./storage
auth:
  htpasswd:
    file: ./htpasswd
uplinks: ${upstream === undefined ? '{}' : JSON.stringify({ upstream: { url: upstream } })}
packages:
  '**':
    access: $all
    publish: $all
    unpublish: $all
${upstream === undefined ? '' : '    proxy: upstream'}
web:
  enable: false
max_body_size: 512mb
log: { type: stdout, format: pretty, level: error }
`

/**
 * Starts verdaccio, a registry for npm packages, on a free port of 127.0.0.1 and in a folder of its
 * own. Every caller may publish. It ends with {@link Verdaccio.close}, and when this process dies.
 *
 * It must be installed: `npm install --save-dev verdaccio@6.10.4`, with
 * `"overrides": { "node-fetch": "2.7.0" }` where the registry does not know the tag it asks for.
 *
 * *Cancellation*: none; it takes about two seconds.
 * @example
 * await using registry = await startVerdaccio()
 * const npm = npmRegistry({ url: registry.url, token: 'secret' })
 */
export async function startVerdaccio(options: VerdaccioOptions = {}): Promise<Verdaccio> {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-verdaccio-'))
  const file = path.join(folder, 'config.yaml')
  await writeFile(file, `${configFor(options.upstream)}${options.config ?? ''}`)
  // Its own options of the runtime: those of a test runner are not for it.
  const child = fork(fileURLToPath(entry), [file], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: [],
    // Not in our process group: what ends all of that would leave its folder behind.
    detached: true,
  })
  const said: Buffer[] = []
  child.stdout!.on('data', (text: Buffer) => keep(said, text))
  child.stderr!.on('data', (text: Buffer) => keep(said, text))
  const close = async (): Promise<void> => {
    await end(child)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const port = await portOf(child, said)
    return {
      url: `http://127.0.0.1:${port}`,
      pid: child.pid!,
      folder,
      close,
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

function keep(said: Buffer[], text: Buffer): void {
  said.push(text)
  if (said.length > 100) said.shift()
}

async function portOf(child: ChildProcess, said: readonly Buffer[]): Promise<number> {
  return new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve((message as { port: number }).port))
    child.once('error', reject)
    child.once('exit', (code) => {
      const text = Buffer.concat(said).toString().slice(-2_000)
      reject(new Error(`verdaccio ended with ${code} before it listened: ${text}`))
    })
  })
}

/** It keeps no promises that would need time to be kept. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
