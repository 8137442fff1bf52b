import assert from 'node:assert/strict'
import test from 'node:test'
import { chooseView, type Surroundings, type ViewWishes } from '../../src/terminal/capabilities.ts'

const terminal: Surroundings = {
  env: { TERM: 'xterm', LANG: 'en_GB.UTF-8' },
  platform: 'linux',
  isTerminal: true,
}
const choose = (
  env: Record<string, string> = {},
  wishes: Partial<ViewWishes> = {},
  isTerminal = true,
): string => {
  const { mode, reason } = chooseView(
    { ...terminal, env: { ...terminal.env, ...env }, isTerminal },
    { json: false, color: true, ...wishes },
  )
  return reason === undefined ? mode : `${mode}: ${reason}`
}

test('a terminal gets the live view; plain lines have a reason', () => {
  assert.equal(choose(), 'live')
  assert.equal(choose({}, {}, false), 'plain: the output is not a terminal')
  assert.equal(choose({ CI: 'true' }), 'plain: CI is set')
  assert.equal(choose({ CI: 'false' }), 'live')
  assert.equal(choose({ CI: '0' }), 'live')
  assert.equal(choose({ TERM: 'dumb' }), 'plain: TERM is dumb')
  assert.equal(choose({}, { quiet: true }), 'quiet: --quiet')
  assert.equal(choose({}, { json: true }), 'json: --json')
})

test('NO_COLOR and --no-color take the colours and leave the live view', () => {
  const viewOf = (env: Record<string, string>, color: boolean): string => {
    const choice = chooseView({ ...terminal, env }, { json: false, color })
    return `${choice.mode} ${choice.color ? 'coloured' : 'plain'}`
  }
  assert.equal(viewOf({ NO_COLOR: '1' }, true), 'live plain')
  assert.equal(viewOf({ NO_COLOR: '' }, true), 'live coloured')
  assert.equal(viewOf({}, false), 'live plain')
})

test('only output to a terminal is coloured', () => {
  assert.equal(chooseView(terminal, { json: false, color: true }).color, true)
  assert.equal(
    chooseView({ ...terminal, isTerminal: false }, { json: false, color: true }).color,
    false,
  )
  assert.equal(chooseView(terminal, { json: true, color: true }).color, false)
})

test('Unicode unless the locale, the console or Windows says otherwise', () => {
  const unicode = (env: Record<string, string>, platform: NodeJS.Platform = 'linux'): boolean =>
    chooseView({ env, platform, isTerminal: true }, { json: false, color: true }).unicode
  assert.equal(unicode({}), true)
  assert.equal(unicode({ LANG: 'C' }), false)
  assert.equal(unicode({ LANG: 'C', LC_ALL: 'de_DE.utf8' }), true)
  assert.equal(unicode({ LANG: 'en_US.UTF-8', LC_ALL: 'POSIX' }), false)
  assert.equal(unicode({ TERM: 'linux', LANG: 'en_US.UTF-8' }), false)
  assert.equal(unicode({}, 'win32'), false)
  assert.equal(unicode({ WT_SESSION: 'x' }, 'win32'), true)
})
