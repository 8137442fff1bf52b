/** Links by which a person without an account sends a signal. */
import { Type } from 'typebox'
import { contract, closed } from './contract.ts'
import { SignalParams, change } from './run-words.ts'

const LinkBody = Type.Object(
  {
    /** What is asked; shown on the page. */
    text: Type.Optional(Type.String({ maxLength: 2_000 })),
    /** The answers to choose from: one is the value of the signal. */
    choices: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: 10 }),
    ),
    /** A day when absent, at most 30 days. */
    expires_in_ms: Type.Optional(Type.Integer({ minimum: 1_000, maximum: 2_592_000_000 })),
  },
  closed,
)

const SecretParams = Type.Object(
  { secret: Type.String({ pattern: '^[\\w-]{43}$', expected: 'a whole link' }) },
  closed,
)

export const makeApprovalLink = contract({
  ...change,
  method: 'POST',
  path: '/runs/:id/signals/:name/links',
  summary: 'A link by which a person without an account sends a signal, once',
  params: SignalParams,
  bodySchema: LinkBody,
  responses: { 201: Type.Object({ link: Type.String(), expires_at: Type.Number() }) },
})

export const showApproval = contract({
  method: 'GET',
  path: '/approvals/:secret',
  summary: 'The page of an approval link; opening it does not use the link up',
  access: 'public',
  body: 'none',
  params: SecretParams,
  responses: { 200: 'text', 410: 'text' },
})

export const answerApproval = contract({
  method: 'POST',
  path: '/approvals/:secret',
  summary: 'Answer by an approval link, which works once',
  access: 'public',
  body: 'form',
  hasSecret: true,
  params: SecretParams,
  bodySchema: Type.Object({ value: Type.String({ minLength: 1, maxLength: 64 }) }, closed),
  responses: { 200: 'text', 410: 'text' },
})
