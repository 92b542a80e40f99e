package spring;

import com.azure.spring.data.cosmos.core.mapping.Container;
import com.azure.spring.data.cosmos.core.mapping.CosmosIndexingPolicy;

/** The entity of a later version of the program, which has another indexing policy. */
@Container(containerName = "parcels", partitionKeyPath = "/address/city")
@CosmosIndexingPolicy(overwritePolicy = true, includePaths = {"/weight/?", "/sender/?"}, excludePaths = "/*")
public class ReindexedParcel extends Parcel {}
