import Type from 'typebox';

export const ProblemSchema = Type.Object(
  {
    type: Type.String({ description: 'Where this kind of problem is explained.' }),
    title: Type.String({ description: 'What the code means, always the same text.' }),
    status: Type.Integer({ description: 'The status of the answer.' }),
    detail: Type.String({ description: 'What was wrong this time, and what to do.' }),
    instance: Type.String({ description: 'The path that was asked for.' }),
    code: Type.String({ description: 'Stable; decide by this one.' }),
    request_id: Type.String({ description: 'As in `X-Request-Id` and in the log of the service.' }),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          parameter: Type.Optional(Type.String({ description: 'The query parameter at fault.' })),
          pointer: Type.Optional(Type.String({ description: 'JSON pointer to the fault in the body.' })),
          code: Type.String({ description: 'What kind of fault it is.' }),
          detail: Type.String({ description: 'What must hold there.' }),
        }),
        { description: 'All faults of the input at once.' },
      ),
    ),
    possible_moves: Type.Optional(
      Type.Array(Type.String(), {
        description: 'With `move_not_allowed`: the moves that the status does allow.',
        examples: [['pause', 'close']],
      }),
    ),
  },
  { title: 'Problem' },
);
