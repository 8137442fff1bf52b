/** The page behind an approval link: plain HTML that needs neither a script nor an account. */
import { escaped } from '../http/html.ts'
import type { ApprovalRecord } from './runs-tables.ts'

/** The rights of the page: show itself and send its form to this server. */
export const approvalHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'cache-control': 'no-store',
  // Without an origin the form would be refused as that of another site; the secret stays on this site.
  'referrer-policy': 'same-origin',
} as const

export function approvalPage({
  run,
  signal,
  text,
  choices,
  createdBy,
  expiresAt,
}: ApprovalRecord): string {
  const buttons = choices.map(
    (choice) => `<button name="value" value="${escaped(choice)}">${escaped(choice)}</button>`,
  )
  const question = text === '' ? `Run ${run} waits for "${signal}".` : text
  return page('An answer is needed', [
    `<p class="question">${escaped(question)}</p>`,
    `<form method="post">${buttons.join('\n')}</form>`,
    `<p>Asked by ${escaped(createdBy)} for run ${escaped(run)}. The link works once, until ${timeOf(expiresAt)}.</p>`,
  ])
}

export function answeredPage({ run }: ApprovalRecord, value: string): string {
  return page('Thank you', [
    `<p>Your answer "${escaped(value)}" was sent to run ${escaped(run)}. This page can be closed.</p>`,
  ])
}

export function refusedPage(reason: string): string {
  return page('This link does not work', [
    `<p>${escaped(reason)}</p>`,
    '<p>Ask the person who sent it for another one.</p>',
  ])
}

function page(title: string, parts: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 10vh auto; padding: 0 1rem; color-scheme: light dark }
.question { font-size: 1.25rem; white-space: pre-wrap }
button { font: inherit; padding: 0.5rem 1.25rem; margin: 0 0.75rem 0.75rem 0 }
</style>
<h1>${title}</h1>
${parts.join('\n')}
</html>
`
}

function timeOf(instant: number): string {
  return `${new Date(instant).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
