/**
 * Installs the peers of a suite into a folder of their own when they are first needed: they are large
 * and many, and running the tests should not wait for them.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the peers of a suite are, with their package.json and lock file. */
export function peersFolder(suite: string): string {
  return fileURLToPath(new URL(`../suites/${suite}/peers/`, import.meta.url))
}

/** Why the peers are not there, or undefined when they are. */
export async function installPeers(
  suite: string,
  options: { readonly offline: boolean; readonly onProgress: (line: string) => void },
): Promise<string | undefined> {
  const folder = peersFolder(suite)
  const lockFile = path.join(folder, 'package-lock.json')
  // Holds the mark of the lock file that was installed.
  const markFile = path.join(folder, 'node_modules', '.installed')
  // The command for the user when the suite may not or cannot install the peers.
  const byHand = `npm install --no-save --ignore-scripts in bench/suites/${suite}/peers`
  const lock = createHash('sha256')
    .update(await readFile(lockFile))
    .digest('hex')
  const installed = await readFile(markFile, 'utf8').catch(() => undefined)
  if (installed === lock) return undefined
  if (options.offline) return `the peers are not installed: ${byHand}`
  options.onProgress('installing the peers of this suite; only the first time')
  try {
    // `npm ci` refuses a lock file that lacks an optional package of another platform; this one keeps to it.
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
    await npm(folder, ['install', '--no-save', '--ignore-scripts', ...quiet])
    await writeFile(markFile, lock)
    return undefined
  } catch (error) {
    return `the peers could not be installed: ${byHand} says: ${String(error)}`
  }
}

function npm(folder: string, args: readonly string[]): Promise<void> {
  const running = process.env['npm_execpath'] ?? ''
  const options = {
    cwd: folder,
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'ignore', 'pipe'] as ['ignore', 'ignore', 'pipe'],
  }
  return new Promise((resolve, reject) => {
    const child = /npm-cli\.c?js$/.test(running)
      ? spawn(process.execPath, [running, ...args], options)
      : // npm is a batch file on Windows, which only a shell can start; the arguments are all ours.
        spawn('npm', args, { ...options, shell: process.platform === 'win32' })
    let errors = ''
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      errors = (errors + chunk).slice(-500)
    })
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(errors.trim() || `npm ended with ${code}`))
    })
  })
}
