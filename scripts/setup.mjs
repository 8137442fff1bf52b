/**
 * Runs a TypeScript file of this checkout with the Node it was written for.
 *
 *     node scripts/setup.mjs [file.ts [arguments…]]
 *
 * Every npm script goes through here, so that a fresh clone needs nothing but some Node ≥ 20 and
 * npm: whatever is missing is installed first. This file is plain JavaScript without dependencies
 * because it runs before there are any.
 *
 * Invariants:
 *  S1  The install is complete and current before the file starts: npm's own record of the
 *      installation agrees with package-lock.json, the lock agrees with every package.json, and every
 *      recorded folder is there.
 *  S2  At most one process installs at a time. A lock left by a dead process is taken over.
 *  S3  An install that was interrupted is done again from nothing.
 *  S4  The file sees the terminal, the signals and the arguments as if it had been started directly,
 *      and its exit code or signal is ours.
 */
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const modules = path.join(root, 'node_modules')
const nodePackage = path.join(modules, 'node')
const pinnedNode = path.join(nodePackage, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
const lockFolder = path.join(root, '.setup-lock')
const interruptedMark = path.join(modules, '.setup-interrupted')
/** A holder renews its lock every 2 s, so a lock this old has no holder. */
const staleAfter = 30_000

const manifest = readJson(path.join(root, 'package.json'))
const pinnedVersion = manifest.devDependencies.node

const say = (text) => process.stderr.write(`heddle: ${text}\n`)

class SetupError extends Error {}

function readJson(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'))
  } catch (error) {
    if (error.code === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw error
  }
}

// ---- Is the install complete and current? (S1)

/** Folders of the workspaces that exist now, as package-lock.json writes them. */
function workspaceFolders() {
  return manifest.workspaces.flatMap((pattern) => {
    if (!pattern.endsWith('/*')) return [pattern]
    const parent = pattern.slice(0, -2)
    if (!fs.existsSync(path.join(root, parent))) return []
    return fs.readdirSync(path.join(root, parent)).map((name) => `${parent}/${name}`)
  })
}

const dependencyFields = [
  'dependencies',
  'devDependencies',
  'optionalDependencies',
  'peerDependencies',
]

function sameDependencies(a, b) {
  return dependencyFields.every((field) => {
    const ours = Object.entries(a[field] ?? {})
    const theirs = b[field] ?? {}
    return (
      ours.length === Object.keys(theirs).length &&
      ours.every(([name, range]) => theirs[name] === range)
    )
  })
}

/** What makes an install necessary, in words, or undefined. */
function staleness() {
  if (!fs.existsSync(modules)) return 'nothing is installed yet'
  if (fs.existsSync(interruptedMark)) return 'the last install was interrupted'
  const installed = readJson(path.join(modules, '.package-lock.json'))?.packages
  if (installed === undefined) return 'the install is incomplete'
  const locked = readJson(path.join(root, 'package-lock.json'))?.packages
  if (locked === undefined) return 'there is no package-lock.json'

  const folders = ['', ...workspaceFolders()]
  for (const folder of folders) {
    const wanted = readJson(path.join(root, folder, 'package.json'))
    if (wanted === undefined) continue
    if (locked[folder] === undefined || !sameDependencies(wanted, locked[folder])) {
      return `${path.posix.join(folder, 'package.json')} has changed`
    }
  }
  for (const [folder, wanted] of Object.entries(locked)) {
    if (folder === '') continue
    const found = installed[folder]
    if (found === undefined) {
      if (wanted.optional || wanted.devOptional) continue
      return `${folder} is missing`
    }
    if (found.version !== wanted.version || found.integrity !== wanted.integrity) {
      return `${folder} has another version`
    }
    if (!fs.existsSync(path.join(root, folder))) return `${folder} is missing`
  }
  return undefined
}

/** Whether the pinned Node is there and starts. */
function pinnedNodeWorks() {
  if (!fs.existsSync(pinnedNode)) return false
  if (fs.realpathSync(process.execPath) === fs.realpathSync(pinnedNode)) return true
  const { stdout } = spawnSync(pinnedNode, ['--version'], { encoding: 'utf8', env: withoutOptions })
  return stdout?.trim() === `v${pinnedVersion}`
}

// ---- One installer at a time (S2)

const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds))
const ownerFile = path.join(lockFolder, 'owner.json')

function tryMakeFolder(folder) {
  try {
    fs.mkdirSync(folder)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/** Milliseconds since the lock was renewed, or undefined when it is gone. */
function lockAge(folder) {
  try {
    return Date.now() - fs.statSync(folder).mtimeMs
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function lockIsStale() {
  const owner = readJson(ownerFile)
  if (owner?.host === os.hostname() && !owner.pids.some(isAlive)) return true
  return (lockAge(lockFolder) ?? 0) > staleAfter
}

/** npm is recorded too: it continues when only this process is killed. */
function writeOwner(...pids) {
  fs.writeFileSync(ownerFile, JSON.stringify({ pids: [process.pid, ...pids], host: os.hostname() }))
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code !== 'ESRCH'
  }
}

/**
 * Removes a lock whose holder died. Two processes may see the same stale lock, and the slower one
 * must not remove the lock the faster one has made since: so they look again inside a second lock,
 * held without waiting.
 */
function breakStaleLock() {
  const guard = `${lockFolder}-break`
  if (!tryMakeFolder(guard)) {
    if ((lockAge(guard) ?? 0) > staleAfter) fs.rmSync(guard, { recursive: true, force: true })
    return
  }
  try {
    if (lockIsStale()) fs.rmSync(lockFolder, { recursive: true, force: true })
  } finally {
    fs.rmSync(guard, { recursive: true, force: true })
  }
}

async function withLock(action) {
  for (let told = false; !tryMakeFolder(lockFolder); await wait(100)) {
    if (lockIsStale()) {
      breakStaleLock()
    } else if (!told) {
      say(
        `waiting for another setup in this folder (process ${readJson(ownerFile)?.pids[0] ?? '?'})`,
      )
      told = true
    }
  }
  writeOwner()
  const renewal = setInterval(() => {
    const now = new Date()
    fs.utimes(lockFolder, now, now, () => {})
  }, 2_000)
  const release = () => fs.rmSync(lockFolder, { recursive: true, force: true })
  process.once('exit', release)
  try {
    await action()
  } finally {
    clearInterval(renewal)
    process.removeListener('exit', release)
    release()
  }
}

// ---- Installing

/** npm is started with the Node it came with: our condition and options are not for it. */
const withoutOptions = { ...process.env, NODE_OPTIONS: '' }

/**
 * Runs a command under the lock and returns its exit code and its output. A signal to us ends it
 * first and us afterwards, so that nothing writes any more when the lock is free.
 */
function capture(command, args, options) {
  return new Promise((done, fail) => {
    let output = ''
    let stoppedBy
    const child = spawn(command, args, {
      ...options,
      env: withoutOptions,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    if (child.pid !== undefined) writeOwner(child.pid)
    const stop = (signal) => {
      stoppedBy = signal
      child.kill(signal)
    }
    process.on('SIGINT', stop).on('SIGTERM', stop)
    const collect = (chunk) => (output += chunk)
    child.stdout.setEncoding('utf8').on('data', collect)
    child.stderr.setEncoding('utf8').on('data', collect)
    child.on('error', fail)
    child.on('close', (code) => {
      process.removeListener('SIGINT', stop).removeListener('SIGTERM', stop)
      if (stoppedBy !== undefined) process.exit(128 + os.constants.signals[stoppedBy])
      done({ code, output })
    })
  })
}

/** The npm that started us, or the one on the path. */
function npm(args, folder = root) {
  const options = { cwd: folder }
  const running = process.env.npm_execpath ?? ''
  if (/npm-cli\.c?js$/.test(running)) return capture(process.execPath, [running, ...args], options)
  // npm is a batch file on Windows, which only a shell can start; the arguments are all ours.
  return capture('npm', args, { ...options, shell: process.platform === 'win32' })
}

const installFlags = ['--include=dev', '--no-audit', '--no-fund', '--loglevel=error']

/**
 * A missing install is made with `npm ci`, exactly as locked. An existing one is brought up to date
 * with `npm install`, which replaces only what changed: other processes may be running from it.
 */
async function install(reason) {
  const fresh = !fs.existsSync(path.join(modules, '.package-lock.json')) || isInterrupted()
  say(`installing dependencies (${reason}); this takes a while only the first time`)
  if (!fresh) fs.writeFileSync(interruptedMark, '')
  let result = fresh ? await npm(['ci', ...installFlags]) : undefined
  if (result !== undefined && result.code !== 0 && /in sync|EUSAGE/.test(result.output)) {
    say('package-lock.json does not match package.json: running npm install, which will update it')
    result = undefined
  }
  result ??= await npm(['install', ...installFlags])
  if (result.code !== 0) {
    throw new SetupError(
      `npm could not install the dependencies. Repair the cause and run the same command again.\n${result.output.trim()}`,
    )
  }
  fs.rmSync(interruptedMark, { force: true })
}

function isInterrupted() {
  return fs.existsSync(interruptedMark)
}

/**
 * The `node` package fetches its binary in an install script, which npm may be configured not to
 * run (npm 12 asks first, `ignore-scripts` forbids it). Running that script here has the same effect.
 */
async function installNode() {
  say(`fetching Node ${pinnedVersion}, which this repository pins (its install script did not run)`)
  const script = path.join(nodePackage, 'installArchSpecificPackage.js')
  const result = await capture(process.execPath, [script], { cwd: nodePackage })
  if (!pinnedNodeWorks()) {
    throw new SetupError(
      `Node ${pinnedVersion} could not be installed for ${process.platform} ${process.arch}.\n${result.output.trim()}`,
    )
  }
}

/** The Node to run with. */
async function prepare() {
  if (staleness() !== undefined) {
    // Looked at again under the lock: another process may have done it meanwhile.
    await withLock(async () => {
      const reason = staleness()
      if (reason !== undefined) await install(reason)
    })
  }
  if (pinnedNodeWorks()) return pinnedNode
  try {
    await withLock(async () => {
      if (!pinnedNodeWorks()) await installNode()
    })
    return pinnedNode
  } catch (error) {
    // There is no build of the pinned Node for some systems (Alpine's C library, for one).
    if (!(error instanceof SetupError) || !isRecentEnough(process.versions.node)) throw error
    say(`Node ${pinnedVersion} cannot be installed here; using this Node ${process.versions.node}`)
    return process.execPath
  }
}

function isRecentEnough(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > 24 || (major === 24 && minor >= 11)
}

// ---- Running the file (S4)

/** Whether a Ctrl-C reaches our child without us: the terminal sends it to the whole group. */
function hasTerminal() {
  try {
    fs.closeSync(fs.openSync('/dev/tty', 'r'))
    return true
  } catch {
    return process.platform === 'win32'
  }
}

function run(node, file, args) {
  const conditions = '--conditions=heddle-source'
  const options = process.env.NODE_OPTIONS ?? ''
  const pathKey = Object.keys(process.env).find((name) => name.toUpperCase() === 'PATH') ?? 'PATH'
  const child = spawn(node, [path.resolve(root, file), ...args], {
    stdio: 'inherit',
    env: {
      ...process.env,
      // Through the environment, so that threads and child processes see the sources as well.
      NODE_OPTIONS: options.includes(conditions) ? options : `${options} ${conditions}`.trim(),
      [pathKey]: [path.dirname(node), path.join(modules, '.bin'), process.env[pathKey]].join(
        path.delimiter,
      ),
    },
  })
  // Sending a second SIGINT would turn a polite stop into an abort.
  const forwarded = [
    'SIGTERM',
    'SIGHUP',
    'SIGUSR1',
    'SIGUSR2',
    ...(hasTerminal() ? [] : ['SIGINT']),
  ]
  if (process.platform !== 'win32') {
    for (const signal of forwarded) process.on(signal, () => child.kill(signal))
  }
  process.on('SIGINT', () => {})
  child.on('error', (error) => {
    say(`cannot start ${node}: ${error.message}`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    for (const name of [...forwarded, 'SIGINT']) process.removeAllListeners(name)
    process.kill(process.pid, signal)
  })
}

if (Number(process.versions.node.split('.')[0]) < 20) {
  say(`Node 20 or newer is needed to start, this is ${process.versions.node}`)
  process.exit(1)
}
try {
  const node = await prepare()
  const [file, ...args] = process.argv.slice(2)
  if (file !== undefined) run(node, file, args)
} catch (error) {
  if (!(error instanceof SetupError)) throw error
  say(error.message)
  process.exitCode = 1
}
