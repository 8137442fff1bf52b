/** A server with users: the first admin, login, a user who is blocked while at work, tokens, the log of actions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { openPage, pressBoth, tabTo } from './browser.ts'
import { openServed, type Served } from './served.ts'

const password = 'correct horse battery'

/** Adds the first user by the page, and sets its password by the link that the page shows. */
async function becomeAdmin(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Add a user' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add a user?' })
  await dialog.getByLabel('Name').fill('ada')
  await dialog.getByRole('button', { name: 'Add the user' }).click()
  await page.getByRole('heading', { name: 'Set your password' }).waitFor()
  await page.getByLabel(/^Password/).fill(password)
  await page.getByLabel('Repeat the password').fill(password)
  await page.getByRole('button', { name: 'Set the password' }).click()
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
}

/** Adds a user as the admin, over HTTP with a token of its own. */
async function addUser({ url }: Served, page: Page, name: string, role: string): Promise<void> {
  const status = await page.evaluate(
    async ([address, user, given, secret]) => {
      const session = (await (await fetch(`${address}/session`)).json()) as { csrf: string }
      const answer = await fetch(`${address}/users`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-csrf-token': session.csrf },
        body: JSON.stringify({ name: user, role: given, password: secret }),
      })
      return answer.status
    },
    [url, name, role, password] as const,
  )
  assert.equal(status, 201)
}

/** What the browser itself reports of answers with an error. */
function unexpected(problems: readonly string[]): string[] {
  return problems.filter((problem) => !/responded with a status of 40[13]/.test(problem))
}

test('the first admin comes by a link; a user logs in, is blocked at work and cannot come back', async () => {
  await using served = await openServed()
  const admin = await openPage(`${served.url}/ui/#/people`)
  await becomeAdmin(admin.page)
  await addUser(served, admin.page, 'bob', 'operator')

  const bob = await openPage(`${served.url}/ui/#/jobs`)
  await bob.page.getByRole('heading', { name: 'Log in' }).waitFor()
  await bob.page.getByLabel('Name').fill('bob')
  await bob.page.getByLabel('Password').fill('wrong')
  await bob.page.getByRole('button', { name: 'Log in' }).click()
  await bob.page.getByRole('alert').waitFor()
  await bob.page.getByLabel('Password').fill(password)
  await bob.page.getByRole('button', { name: 'Log in' }).click()
  // The view that was asked for, without what only admins see.
  await bob.page.getByRole('heading', { name: 'Jobs' }).waitFor()
  assert.equal(await bob.page.getByRole('link', { name: 'People' }).count(), 0)
  await bob.page.getByRole('button', { name: 'square' }).click()
  await bob.page.getByLabel('Input, as JSON').fill('7')
  await bob.page.getByRole('button', { name: 'Submit' }).click()
  await bob.page.getByLabel('Result', { exact: true }).getByText('49', { exact: true }).waitFor()

  const { page } = admin
  await page.getByRole('link', { name: 'People' }).click()
  await page.getByRole('button', { name: 'Sessions of bob' }).click()
  await page.getByText('logged in').waitFor()
  await page.getByRole('button', { name: 'Block bob' }).click()
  const dialog = page.getByRole('dialog', { name: 'Block bob?' })
  await dialog.getByText('All sessions of bob end').waitFor()
  await dialog.getByRole('button', { name: 'Block bob' }).click()
  await page.getByRole('button', { name: 'Unblock bob' }).waitFor()

  await bob.page.getByRole('button', { name: 'Submit' }).click()
  await bob.page.getByRole('heading', { name: 'Log in' }).waitFor()
  await bob.page.getByLabel('Name').fill('bob')
  await bob.page.getByLabel('Password').fill(password)
  await bob.page.getByRole('button', { name: 'Log in' }).click()
  await bob.page.getByRole('alert').waitFor()

  await page.getByRole('link', { name: 'Audit' }).click()
  const row = page.locator('tbody tr', { hasText: 'user blocked' })
  await row.getByText('bob').waitFor()
  await page.getByLabel('Action').fill('login')
  await row.waitFor({ state: 'detached' })
  assert.match(page.url(), /action=login/)
  assert.deepEqual(unexpected([...admin.problems, ...bob.problems]), [])
  await admin.context.close()
  await bob.context.close()
})

test('the same by keyboard only: log in, block a user, log out', async () => {
  await using served = await openServed()
  const { page, context, problems } = await openPage(`${served.url}/ui/#/people`)
  await becomeAdmin(page)
  await addUser(served, page, 'bob', 'viewer')
  await context.clearCookies()
  await page.reload()
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
  await page.keyboard.type('ada')
  await page.keyboard.press('Tab')
  await page.keyboard.type(password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
  await pressBoth(page, 'g', 'p', page.getByRole('heading', { name: 'People', exact: true }))
  await page.getByRole('button', { name: 'Block bob' }).waitFor()
  await tabTo(page, 'Block bob')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Block bob?' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Unblock bob' }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('log out')
  await page.getByRole('option', { name: 'Log out' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
  assert.deepEqual(unexpected(problems), [])
  await context.close()
})

test('text that is typed as soon as a form appears goes into its first field', async () => {
  await using served = await openServed()
  const { page, context } = await openPage(`${served.url}/ui/#/people`)
  await becomeAdmin(page)
  await context.clearCookies()
  // At the first moment at which a program can see the form: before anything else is drawn or typed.
  await page.addInitScript(() => {
    const watch = new MutationObserver(() => {
      if (document.querySelector('.entry h1') === null) return
      watch.disconnect()
      document.documentElement.dataset['focused'] = document.activeElement?.tagName ?? 'nothing'
    })
    watch.observe(document, { childList: true, subtree: true })
  })
  await page.reload()
  await page.locator('[data-focused]').waitFor({ state: 'attached' })
  assert.equal(await page.evaluate(() => document.documentElement.dataset['focused']), 'INPUT')
  await context.close()
})

test('a token is made, shown once and revoked', async () => {
  await using served = await openServed()
  const { page, context, problems } = await openPage(`${served.url}/ui/#/people`)
  await becomeAdmin(page)
  await page.getByRole('link', { name: 'People' }).click()
  await page.getByRole('button', { name: 'Add a token' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add a token?' })
  await dialog.getByLabel('Name').fill('workers')
  await dialog.getByLabel('worker: claim').check()
  await dialog.getByRole('button', { name: 'Add the token' }).click()
  const shown = page.getByRole('dialog', { name: 'The token workers' })
  const token = await shown.locator('code').innerText()
  // As on plain HTTP, where pages have no clipboard: it is copied all the same, out of an open dialog.
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('not here'))
  })
  await shown.getByRole('button', { name: 'Copy' }).click()
  await shown.getByText('Copied').waitFor()
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), token)
  await shown.getByRole('button', { name: 'Done' }).click()
  const ask = async (): Promise<number> => {
    const answer = await fetch(`${served.url}/runs`, {
      headers: { authorization: `Bearer ${token}` },
    })
    return answer.status
  }
  assert.equal(await ask(), 200)
  // The time until the server refuses it is the server's matter; this test is about the page.
  await page.getByRole('button', { name: 'Revoke workers' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke workers' }).click()
  await page.locator('tr', { hasText: 'workers' }).getByText('revoked').waitFor()
  assert.deepEqual(unexpected(problems), [])
  await context.close()
})

test('the role of a user is changed and all sessions of the user are ended: the user must log in again', async () => {
  await using served = await openServed()
  const { page, context, problems } = await openPage(`${served.url}/ui/#/people`)
  await becomeAdmin(page)
  await addUser(served, page, 'bob', 'viewer')
  const bob = await openPage(`${served.url}/ui/#/runs`)
  await bob.page.getByLabel('Name').fill('bob')
  await bob.page.getByLabel('Password').fill(password)
  await bob.page.keyboard.press('Enter')
  await bob.page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
  // A viewer starts no run and manages no users, by key and palette neither.
  await bob.page.keyboard.press('n')
  await bob.page.keyboard.press('?')
  const keys = bob.page.getByRole('dialog', { name: 'Keys' })
  await keys.getByText('Search runs').waitFor()
  for (const key of ['Start a run', 'People', 'Audit']) {
    assert.equal(await keys.getByText(key, { exact: true }).count(), 0, key)
  }
  await bob.page.keyboard.press('Escape')
  await keys.waitFor({ state: 'detached' })
  await bob.page.keyboard.press('/')
  await bob.page.keyboard.type('go to')
  await bob.page.getByRole('option', { name: 'Go to Schedules' }).waitFor()
  assert.equal(await bob.page.getByRole('option', { name: 'Go to People' }).count(), 0)
  await bob.page.keyboard.press('Escape')
  assert.equal(await bob.page.getByRole('button', { name: 'Start a run' }).count(), 0)

  await page.getByRole('link', { name: 'People' }).click()
  await page.getByRole('button', { name: 'Role of bob: viewer. Change it' }).click()
  const roles = page.getByRole('dialog', { name: 'Change the role of bob?' })
  await roles.getByLabel('Role').selectOption('operator')
  await roles.getByRole('button', { name: 'Change the role' }).click()
  await page.getByRole('button', { name: 'Role of bob: operator. Change it' }).waitFor()
  await page.getByRole('button', { name: 'Sessions of bob' }).click()
  await page.getByRole('button', { name: 'End all sessions' }).click()
  const ending = page.getByRole('dialog', { name: 'End the sessions of bob?' })
  await ending.getByText('1 browser of bob must log in again.').waitFor()
  await ending.getByRole('button', { name: 'End the sessions' }).click()
  await page.getByText('bob has no open session.').waitFor()

  await bob.page.reload()
  await bob.page.getByLabel('Name').fill('bob')
  await bob.page.getByLabel('Password').fill(password)
  await bob.page.keyboard.press('Enter')
  await bob.page.getByRole('button', { name: 'Start a run' }).waitFor()
  assert.deepEqual(unexpected([...problems, ...bob.problems]), [])
  await context.close()
  await bob.context.close()
})

test('a user changes the own password: this session stays, the others end, and the new password counts', async () => {
  await using served = await openServed()
  const { page, context, problems } = await openPage(`${served.url}/ui/#/people`)
  await becomeAdmin(page)
  const other = await openPage(`${served.url}/ui/#/runs`)
  const logIn = async (secret: string): Promise<void> => {
    await other.page.getByLabel('Name').fill('ada')
    await other.page.getByLabel('Password').fill(secret)
    await other.page.getByRole('button', { name: 'Log in' }).click()
  }
  await logIn(password)
  await other.page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()

  await page.getByRole('button', { name: 'Change your password' }).click()
  const dialog = page.getByRole('dialog', { name: 'Change your password?' })
  const next = 'battery staple horse'
  await dialog.getByLabel('New password').fill(next)
  await dialog.getByLabel('Repeat the password').fill(next)
  await dialog.getByLabel('Current password').fill(password)
  await dialog.getByRole('button', { name: 'Change the password' }).click()
  await page.getByText('Your password is changed.').waitFor()
  await dialog.waitFor({ state: 'detached' })
  // Still logged in, with the right to change things.
  await page.getByRole('link', { name: 'People' }).click()
  await page.getByRole('button', { name: 'Add a user' }).waitFor()

  await other.page.reload()
  // Logins and changes of a password share a rate: a wrong password would use it up.
  await logIn(next)
  await other.page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
  // The server may have cut the live stream of the session that ended before the page was loaded again.
  const isExpected = /status of 4|ERR_INCOMPLETE_CHUNKED_ENCODING/
  assert.deepEqual(
    unexpected([...problems, ...other.problems]).filter((one) => !isExpected.test(one)),
    [],
  )
  await context.close()
  await other.context.close()
})
