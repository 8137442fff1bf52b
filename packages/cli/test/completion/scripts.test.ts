import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { before, test, type TestContext } from 'node:test'
import { collectPaths, type CompletedPath } from '../../src/completion/paths.ts'
import { scriptFor } from '../../src/completion/scripts.ts'
import { runProgram } from '../support/program.ts'

let paths: readonly CompletedPath[]
before(async () => {
  paths = await collectPaths()
})

function withoutShell(shell: string): string | false {
  const { status } = spawnSync(shell, ['-c', 'exit 0'])
  return status === 0 ? false : `there is no ${shell} on this machine`
}

/** What bash offers at the end of a line. */
function offered(...words: readonly string[]): string[] {
  const list = ['heddle', ...words].map((word) => `'${word}'`).join(' ')
  const asked = `
COMP_WORDS=(${list})
COMP_CWORD=${words.length}
_heddle
printf '%s\\n' "\${COMPREPLY[@]}"`
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['--norc', '-c', scriptFor('bash', paths) + asked],
    {
      encoding: 'utf8',
    },
  )
  assert.deepEqual([status, stderr], [0, ''])
  return stdout.trimEnd().split('\n').filter(Boolean)
}

test(
  'bash completes commands, subcommands, options and their values',
  { skip: withoutShell('bash') },
  () => {
    assert.deepEqual(offered('ru'), ['run', 'runs'])
    assert.deepEqual(offered('runs', 'sh'), ['show'])
    assert.deepEqual(offered('--ver'), ['--version'])
    assert.deepEqual(offered('runs', 'list', '--js'), ['--json'])
    assert.deepEqual(offered('completion', ''), ['bash', 'zsh', 'fish'])
    assert.deepEqual(offered('--json', 'release', 'pub'), ['publish'], 'an option before a command')
  },
)

test(
  'bash offers the values of an option that has a list of them',
  { skip: withoutShell('bash') },
  () => {
    const found = paths
      .flatMap(({ path: at, options }) => options.map((option) => ({ at, ...option })))
      .filter(({ choices }) => choices.length > 0)
    assert.ok(found.length > 0)
    for (const { at, long, choices } of found.slice(0, 3)) {
      assert.deepEqual(offered(...at.split(' '), long, ''), choices, `${at} ${long}`)
    }
  },
)

test(
  'bash leaves files, and words after --, to its own completion',
  { skip: withoutShell('bash') },
  () => {
    assert.deepEqual(offered('run', 'gra'), [])
    assert.deepEqual(offered('run', 'graph.ts', '--', '--js'), [])
  },
)

test('every option of the help is in every script', async () => {
  const { stdout } = await runProgram(['runs', 'list', '--help'], { cwd: os.tmpdir() })
  const options = Array.from(stdout.matchAll(/^ {2}(?:-\w, )?--([\w-]+)/gm), ([, name]) => name!)
  assert.ok(options.length > 3)
  const [bash, fish] = [scriptFor('bash', paths), scriptFor('fish', paths)]
  const [ofBash = ''] = /'runs list'\) words=.*/.exec(bash) ?? []
  for (const option of options) {
    assert.ok(ofBash.includes(`--${option}`), option)
    assert.match(fish, new RegExp(`at "runs list"' -l ${option}\\b`))
  }
})

test('heddle completion prints the script, and refuses other shells', async () => {
  const cwd = os.tmpdir()
  const printed = await runProgram(['completion', 'bash'], { cwd })
  assert.deepEqual([printed.code, printed.stdout], [0, scriptFor('bash', paths)])
  const refused = await runProgram(['completion', 'tcsh'], { cwd })
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /Allowed choices are bash, zsh, fish/)
})

for (const shell of ['zsh', 'fish'] as const) {
  test(
    `${shell} takes its script without an error`,
    { skip: withoutShell(shell) },
    (t: TestContext) => {
      const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-completion-'))
      t.after(() => rmSync(folder, { recursive: true, force: true }))
      const file = path.join(folder, 'script')
      writeFileSync(file, scriptFor(shell, paths))
      const env = { ...process.env, HOME: folder, ZDOTDIR: folder }
      const { status, stderr } = spawnSync(shell, ['-c', `source ${file}`], {
        encoding: 'utf8',
        env,
      })
      assert.deepEqual([status, stderr], [0, ''])
    },
  )
}
