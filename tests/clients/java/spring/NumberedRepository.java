package spring;

import com.azure.spring.data.cosmos.repository.CosmosRepository;
import java.util.List;

/** Entities with a hierarchical key. */
public interface NumberedRepository extends CosmosRepository<Numbered, String> {
    List<Numbered> findByTenantOrderByNDesc(String tenant);
}
