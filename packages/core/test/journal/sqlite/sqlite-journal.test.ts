import { journalConformance } from '../../../src/testing/journal-conformance.ts'
import { newStore } from './store-folder.ts'

journalConformance('sqlite', () => newStore('fsync'))
