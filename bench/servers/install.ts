/**
 * Installs servers with Debian's package manager. Only on request: it changes the machine.
 *
 * Debian starts a server as soon as it is installed. The bench starts its own, so a policy file, there
 * for the time of the installation, tells the packages not to (`man invoke-rc.d`).
 */
import { spawn } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'

const policyFile = '/usr/sbin/policy-rc.d'
const policy = `#!/bin/sh
# Written by Heddle's bench while it installs servers, and removed afterwards.
exit 101
`

/** Why nothing can be installed here, or undefined. */
export function obstacle(): string | undefined {
  if (!existsSync('/usr/bin/apt-get')) return 'there is no apt-get here'
  if (process.getuid?.() !== 0) return 'only root may use apt-get'
  return undefined
}

/** Installs Debian packages. Rejects with the end of apt-get's output. */
export async function installPackages(names: readonly string[]): Promise<void> {
  using _policy = forbidStarts()
  await aptGet(['update'])
  await aptGet(['install', '--yes', '--no-install-recommends', ...names])
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Tells packages not to start their servers, until disposed of. An existing policy stays as it is. */
function forbidStarts(): Disposable {
  if (existsSync(policyFile)) return { [Symbol.dispose]: () => {} }
  const withdraw = (): void => rmSync(policyFile, { force: true })
  const stop = (): void => process.exit(1)
  writeFileSync(policyFile, policy, { mode: 0o755 })
  process.once('exit', withdraw)
  for (const signal of signals) process.once(signal, stop)
  return {
    [Symbol.dispose]: () => {
      for (const signal of signals) process.removeListener(signal, stop)
      process.removeListener('exit', withdraw)
      withdraw()
    },
  }
}

function aptGet(args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = ''
    const child = spawn('apt-get', ['--quiet', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    const keepEnd = (chunk: string): void => {
      output = (output + chunk).slice(-2000)
    }
    child.stdout.setEncoding('utf8').on('data', keepEnd)
    child.stderr.setEncoding('utf8').on('data', keepEnd)
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`apt-get ${args[0]} ended with ${code}: ${output.trim()}`))
    })
  })
}
