import assert from 'node:assert/strict'
import os from 'node:os'
import { test } from 'node:test'
import { runProgram } from '../support/program.ts'

const cwd = os.tmpdir()

test('doctor prints a line for each check and ends with 0; with --json one object', async () => {
  const plain = await runProgram(['doctor'], { cwd })
  assert.equal(plain.code, 0, plain.stdout)
  const machine = ['node', 'sqlite', 'threads', 'loop watch', 'terminal']
  const project = ['modules', 'typescript', 'folder', 'clock', 'limits']
  for (const name of [...machine, ...project]) {
    assert.match(plain.stdout, new RegExp(`^✓ ${name} `, 'm'))
  }
  const json = await runProgram(['doctor', '--json'], { cwd })
  const [result] = json.objects as unknown as [
    { ok: boolean; checks: { name: string; ok: boolean }[] },
  ]
  assert.equal(result.ok, true)
  assert.equal(result.checks.length, 10)
})

test('doctor ends with 1 when a check fails, and names the repair', async () => {
  const { code, stdout } = await runProgram(['doctor', '--journal', 'sqlite:/nowhere/runs.db'], {
    cwd,
  })
  assert.equal(code, 1)
  assert.match(stdout, /^✗ journal .*\n +Check the path/m)
})
