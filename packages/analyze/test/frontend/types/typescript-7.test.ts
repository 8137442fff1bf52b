import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openTypes } from '../../../src/frontend/open-types.ts'
import { findCompilers } from '../../../src/frontend/types/find-compiler.ts'
import type { NativeModule } from '../../../src/frontend/types/native-api.ts'
import type { TypeProblem } from '../../../src/frontend/types/types-protocol.ts'
import { tempFolder } from '../../support/temp-folder.ts'

const here = path.dirname(fileURLToPath(import.meta.url))
const [compiler] = findCompilers(here)
assert.ok(compiler?.kind === 'typescript-7')
const real = compiler.load() as NativeModule

/** The same compiler, except that its process is killed before the first question. */
function killed(): NativeModule {
  let isKilled = false
  return {
    ...real,
    SymbolFlags: real.SymbolFlags,
    API: class extends real.API {
      override updateSnapshot(
        params: object,
      ): ReturnType<InstanceType<NativeModule['API']>['updateSnapshot']> {
        const snapshot = super.updateSnapshot(params)
        const pid = this.client?.channel?.child?.pid
        assert.ok(pid !== undefined)
        if (!isKilled) process.kill(pid, 'SIGKILL')
        isKilled = true
        return snapshot
      }
    },
  }
}

test('I1: a compiler that dies is given up and reported, and the analysis continues without types', (t) => {
  const root = tempFolder(t, { 'a.ts': 'const m = new Map(); m.clear()', 'tsconfig.json': '{}' })
  const file = path.join(root, 'a.ts')
  const problems: TypeProblem[] = []
  const types = openTypes({
    root,
    files: [file],
    onProblem: (problem) => problems.push(problem),
    compilers: [{ ...compiler, load: () => killed() }],
  })
  t.after(() => types.close())
  assert.deepEqual(types.symbolsAt(file, [23]), [undefined])
  assert.equal(types.kind, 'none')
  assert.ok(problems.some(({ isLost }) => isLost))
  assert.deepEqual(types.symbolsAt(file, [23]), [undefined])
})
