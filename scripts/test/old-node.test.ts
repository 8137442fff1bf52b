/** On a Node that is too old the entries that programs import end with one sentence, and so does the command. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { before, test } from 'node:test'
import { buildPackages } from '../packed.ts'
import { root } from '../tool.ts'

/** The first Node on the path that is older than 22.18, and new enough to load our files at all. */
function findOldNode(): string | undefined {
  const folders = [
    ...(process.env['PATH'] ?? '').split(path.delimiter),
    '/usr/local/bin',
    '/usr/bin',
  ]
  for (const folder of folders) {
    const node = path.join(folder, process.platform === 'win32' ? 'node.exe' : 'node')
    if (!existsSync(node)) continue
    const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' })
    const [, major, minor] = /^v(\d+)\.(\d+)/.exec(stdout) ?? []
    if (major === '20' || major === '21' || (major === '22' && Number(minor) < 18)) return node
  }
  return undefined
}

const node = findOldNode()
const skip = node === undefined && 'there is no Node 20, 21 or 22 below 22.18 on this machine'
const sentence = /Heddle needs Node 22\.18 or newer; this is Node 2[0-2]\.\d+\.\d+\./

function runOld(args: readonly string[]): { status: number | null; stderr: string } {
  // Options that the runner passes on may be unknown there.
  const { NODE_OPTIONS: _, ...env } = process.env
  return spawnSync(node!, args, { cwd: path.join(root, 'scripts'), encoding: 'utf8', env })
}

/** Beside eight busy processes on two cores the compiler takes minutes. */
const timeout = 600_000

before(
  async () => {
    if (skip === false) await buildPackages()
  },
  { timeout },
)

for (const entry of [
  '@heddle/core',
  '@heddle/core/lowlevel',
  '@heddle/core/testing',
  '@heddle/server',
  '@heddle/worker',
]) {
  test(`import of ${entry} on an old Node ends with the one sentence`, { skip, timeout }, () => {
    const { status, stderr } = runOld(['--input-type=module', '--eval', `import '${entry}'`])
    assert.notEqual(status, 0)
    assert.match(stderr, sentence)
  })
}

test(
  'the heddle command on an old Node ends with the one sentence, and with 2',
  { skip, timeout },
  (t) => {
    // A copy as it is installed: without sources, and where the pinned Node of this checkout is not
    // found.
    const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-old-node-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    cpSync(path.join(root, 'packages/cli/bin'), path.join(folder, 'bin'), { recursive: true })
    writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }')
    const { status, stderr } = runOld([path.join(folder, 'bin/heddle.js'), '--version'])
    assert.equal(status, 2)
    assert.match(stderr, sentence)
  },
)
