// The page of /docs: the API's own description, shown without asking anyone else (validatorUrl would).
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#description",
  deepLinking: true,
  validatorUrl: null,
});
