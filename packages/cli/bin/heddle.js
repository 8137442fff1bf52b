#!/usr/bin/env node
/**
 * Starts the command line, from a checkout without a build or as an installed package.
 *
 * Plain JavaScript for any Node from 18 on: it is what finds the Node that can run the rest.
 *
 *   right Node, right conditions ──────▶ import main in this process
 *   otherwise, Node can replace itself ▶ execve: the same process, so nothing has to be passed on
 *   otherwise (Node < 22.15, Windows) ─▶ a child process
 *
 * Invariants, quoted by the tests:
 *  B1  In a checkout the source runs, never a build. A published package has no src folder.
 *  B2  Terminal, signals and arguments reach the program as if it had been started directly, and its
 *      exit code or signal is ours.
 *  B3  A child ends with its launcher, also when the launcher is killed with SIGKILL.
 *  B4  SIGTERM of npx reaches the program, although the shell between them passes nothing on (src/lifeline.ts).
 */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import module from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const condition = '--conditions=heddle-source'
const self = fileURLToPath(import.meta.url)
const folder = path.dirname(path.dirname(self))
const source = path.join(folder, 'src', 'main.ts')
const isCheckout = fs.existsSync(source)
/** The sources use `using`, which the build lowers. */
const least = isCheckout ? [24, 11] : [22, 18]
const main = isCheckout ? source : path.join(folder, 'dist', 'main.js')

function isRecentEnough(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > least[0] || (major === least[0] && minor >= least[1])
}

/** The Node of the npm package `node`, if it is installed in this folder or one above it. */
function pinnedNode() {
  const file = process.platform === 'win32' ? 'node.exe' : 'node'
  for (let at = folder; ; at = path.dirname(at)) {
    const found = path.join(at, 'node_modules', 'node', 'bin', file)
    if (fs.existsSync(found)) return found
    if (at === path.dirname(at)) return undefined
  }
}

function hasCondition() {
  const given = [...process.execArgv, ...(process.env.NODE_OPTIONS ?? '').split(' ')]
  return given.some(
    (option, i) =>
      option === condition ||
      (/^(--conditions|-C)$/.test(option) && given[i + 1] === 'heddle-source'),
  )
}

/** Whether a Ctrl+C reaches our child without us: the terminal sends it to the whole group. */
function hasTerminal() {
  try {
    fs.closeSync(fs.openSync('/dev/tty', 'r'))
    return true
  } catch {
    return process.platform === 'win32'
  }
}

/** B2 and B3 by hand. */
function startChild(node, args, env) {
  // The program ends when this pipe does: see src/lifeline.ts.
  const child = spawn(node, args, {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...env, HEDDLE_LIFELINE: '3' },
  })
  const signals = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGQUIT']
  // A second SIGINT would turn a polite stop into an abort.
  if (!hasTerminal()) signals.push('SIGINT')
  else process.on('SIGINT', () => {})
  if (process.platform === 'win32') signals.length = 0
  for (const signal of signals) process.on(signal, () => child.kill(signal))
  child.stdio[3].on('error', () => {})
  child.on('error', (error) => {
    process.stderr.write(`heddle: cannot start ${node}: ${error.message}\n`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    for (const name of [...signals, 'SIGINT']) process.removeAllListeners(name)
    process.kill(process.pid, signal)
  })
}

function refuse() {
  process.stderr.write(
    `Heddle needs Node ${least.join('.')} or newer; this is Node ${process.versions.node}.\n` +
      `Install it, or add it to this project with: npm install --save-dev node@24\n`,
  )
  process.exitCode = 2
}

const suits = isRecentEnough(process.versions.node)
// A second launcher takes what it has got: looking for a better Node again would never end.
const isSecond = process.env.HEDDLE_LAUNCHED === '1'
delete process.env.HEDDLE_LAUNCHED
const node = suits ? process.execPath : isSecond ? undefined : pinnedNode()
if (node === undefined) {
  refuse()
} else if (suits && (!isCheckout || hasCondition())) {
  // Most of a start is compiling what was compiled the last time too. Threads take the setting from the
  // environment; they need it where types have to be stripped.
  const cache = module.enableCompileCache?.()
  if (isCheckout && cache?.directory) process.env.NODE_COMPILE_CACHE ??= cache.directory
  await import(pathToFileURL(main).href)
} else {
  const flags = isCheckout && !hasCondition() ? [condition] : []
  const args = [...process.execArgv, ...flags, self, ...process.argv.slice(2)]
  const canReplace = process.platform !== 'win32' && typeof process.execve === 'function'
  const env = { ...process.env, HEDDLE_LAUNCHED: '1' }
  if (canReplace) process.execve(node, [node, ...args], env)
  else startChild(node, args, env)
}
