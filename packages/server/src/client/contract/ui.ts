/** Routes of the dashboard's files. They are public: the page that asks for a login is one of them. */
import { Type } from 'typebox'
import { contract } from './contract.ts'

const name = Type.String({ minLength: 1, maxLength: 200 })

export const showHome = contract({
  method: 'GET',
  path: '/',
  summary: 'Leads to the dashboard',
  access: 'public',
  body: 'none',
  responses: { 302: 'text' },
})

export const showDashboard = contract({
  method: 'GET',
  path: '/ui',
  summary: 'Leads to the dashboard',
  access: 'public',
  body: 'none',
  responses: { 302: 'text' },
})

export const readDashboard = contract({
  method: 'GET',
  path: '/ui/',
  summary: 'The dashboard',
  access: 'public',
  body: 'none',
  responses: { 200: 'text' },
})

export const readDashboardFile = contract({
  method: 'GET',
  path: '/ui/assets/:name',
  summary: 'A file of the dashboard',
  access: 'public',
  body: 'none',
  params: Type.Object({ name }),
  responses: { 200: 'bytes' },
})
