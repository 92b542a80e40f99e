// LangChain keeps the history of chats, and a cache of models' answers, in the Cosmos DB API.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { AzureCosmsosDBNoSQLChatMessageHistory } from '@langchain/azure-cosmosdb';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { cosmosClient, wellKnownKey } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

describe('@langchain/azure-cosmosdb', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  const history = (sessionId, options = {}) =>
    new AzureCosmsosDBNoSQLChatMessageHistory({ sessionId, userId: 'ann', client: cosmosClient(server), ...options });

  test('keeps the messages of a chat for another program', async () => {
    const chat = history('first');
    await chat.addMessage(new HumanMessage('What is an octavo?'));
    await chat.addMessage(new AIMessage('A sheet folded into eight leaves.'));
    const messages = await history('first').getMessages();
    assert.deepEqual(messages.map((message) => [message.getType(), message.content]),
      [['human', 'What is an octavo?'], ['ai', 'A sheet folded into eight leaves.']]);
  });

  test('connects by a connection string', async () => {
    const connectionString = `AccountEndpoint=http://127.0.0.1:${server.cosmosPort}/;AccountKey=${wellKnownKey}`;
    // The package cuts at each '=', so what it takes for the key lacks its padding.
    const chat = history('by string', { client: undefined, connectionString });
    await chat.addMessage(new HumanMessage('Hello'));
    assert.equal((await history('by string').getMessages()).length, 1);
  });

  test('changes the context of a chat by a patch', async () => {
    const chat = history('context');
    await chat.setContext({ topic: 'before the first message' });
    await chat.addMessage(new HumanMessage('Hello'));
    await chat.setContext({ topic: 'books' });
    const later = history('context');
    await later.getMessages();
    assert.deepEqual(await later.getContext(), { topic: 'books' });
  });

  test('lists the chats of one user, and clears one or all', async () => {
    const mine = { userId: 'bob' };
    for (const id of ['a', 'b', 'c']) await history(id, mine).addMessage(new HumanMessage(id));
    const sessions = await history('a', mine).getAllSessions();
    assert.deepEqual(sessions.map((session) => session.id).sort(), ['a', 'b', 'c']);
    await history('b', mine).clear();
    assert.equal((await history('b', mine).getMessages()).length, 0);
    await history('a', mine).clearAllSessions();
    assert.deepEqual(await history('a', mine).getAllSessions(), []);
  });
});
